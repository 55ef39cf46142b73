import type { PoolId, WorkerId } from '../../core/identity/ids.ts';
import { RouterError } from '../../core/router-error.ts';
import type { ControlClient } from '../../ports/kv-bus.ts';
import type { Fields } from './chat-fields.ts';
import { promptFieldsOf } from './prompt-fields.ts';
import type { TextTokenizer } from './text-tokenizer.ts';

export interface EngineTokenizerDeps {
  readonly control: ControlClient;
  /** The pool's workers; they have one tokenizer. */
  readonly workersOf: (pool: PoolId) => readonly WorkerId[];
}

/** Asks the engine's own `/tokenize` through an agent, one worker after another. */
export class EngineTokenizer implements TextTokenizer {
  readonly #deps: EngineTokenizerDeps;
  #asked = 0;

  constructor(deps: EngineTokenizerDeps) {
    this.#deps = deps;
  }

  ofText(pool: PoolId, text: string, fields: Fields, signal: AbortSignal): Promise<readonly number[]> {
    return this.#ask(pool, { ...modelOf(fields), prompt: text }, signal);
  }

  ofChat(pool: PoolId, fields: Fields, signal: AbortSignal): Promise<readonly number[]> {
    return this.#ask(pool, { ...modelOf(fields), ...promptFieldsOf(fields) }, signal);
  }

  async #ask(pool: PoolId, question: Fields, signal: AbortSignal): Promise<readonly number[]> {
    const workers = this.#deps.workersOf(pool);
    const worker = workers[this.#asked++ % Math.max(1, workers.length)];
    if (worker === undefined) throw new RouterError('no-worker', `pool ${pool} has no worker to tokenize with`);
    const answer = await this.#deps.control.tokenize(pool, worker, new TextEncoder().encode(JSON.stringify(question)), signal);
    return tokensIn(answer, worker);
  }
}

const modelOf = ({ model }: Fields): Fields => ((model ?? null) === null ? {} : { model });

function tokensIn(answer: Uint8Array, worker: WorkerId): readonly number[] {
  const value: unknown = JSON.parse(new TextDecoder().decode(answer));
  const tokens = typeof value === 'object' && value !== null && 'tokens' in value ? value.tokens : null;
  if (Array.isArray(tokens) && tokens.every((token): token is number => typeof token === 'number')) return tokens;
  throw new RouterError('worker-failed', `the tokenizer of worker ${worker} answered without tokens`);
}
