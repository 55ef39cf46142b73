import { describe, expect, it } from 'vitest';
import { likelyCause } from '../../../src/adapters/tokenizer/count-comparison.ts';
import { PoolTokenizers } from '../../../src/adapters/tokenizer/pool-tokenizers.ts';
import type { OpenedModel, ServedModel } from '../../../src/adapters/tokenizer/pool-tokenizers.ts';
import { parsePoolId } from '../../../src/core/identity/ids.ts';
import { RouterError } from '../../../src/core/router-error.ts';
import { silentLog } from '../../support/silent-log.ts';

const pool = parsePoolId('llama');
const never = new AbortController().signal;

/** Answers with one token, to know it by. */
class Answering implements OpenedModel {
  readonly deaths = 1;
  readonly refused = 2;
  fails: RouterError | null = null;
  closed = false;
  readonly #token: number;

  constructor(token: number) {
    this.#token = token;
  }

  ofText(): Promise<readonly number[]> {
    return this.fails === null ? Promise.resolve([this.#token]) : Promise.reject(this.fails);
  }

  ofChat(): Promise<readonly number[]> {
    return this.ofText();
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
}

function around(served: Partial<ServedModel>, given: string | null = null) {
  const model = new Answering(1);
  const opened: string[] = [];
  const now: { model: ServedModel | null } = { model: { tokenizerPath: null, contextLength: 4096, engines: 'one', ...served } };
  const open = (directory: string): Promise<OpenedModel> => {
    opened.push(directory);
    return directory === '/not-here' ? Promise.reject(new RouterError('bad-config', 'nothing there')) : Promise.resolve(model);
  };
  const tokenizers = new PoolTokenizers({ engines: new Answering(2), open, modelOf: () => now.model, log: silentLog }, given);
  const ask = async (): Promise<number | undefined> => (await tokenizers.ofText(pool, 'x', {}, never))[0];
  return { tokenizers, model, opened, now, ask };
}

describe('a pool is tokenized for', () => {
  it('by the engines where they name no folder, or one that is not whole or not here', async () => {
    expect(await around({}).ask()).toBe(2);
    const hub = around({ tokenizerPath: 'Qwen/Qwen3-8B' });
    expect([await hub.ask(), hub.opened]).toEqual([2, []]);
    const away = around({ tokenizerPath: '/not-here' });
    expect([await away.ask(), await away.ask(), away.opened]).toEqual([2, 2, ['/not-here']]);
  });

  it('by the model\'s own tokenizer where its folder can be read, opened once', async () => {
    const { ask, opened } = around({ tokenizerPath: '/models/llama' });
    expect(await Promise.all([ask(), ask()])).toEqual([1, 1]);
    expect(opened).toEqual(['/models/llama']);
  });

  it('by the folder that was given, whatever the engines name; without it the router does not start', async () => {
    const { tokenizers, ask, opened } = around({ tokenizerPath: '/models/llama' }, '/given');
    await tokenizers.load();
    expect([await ask(), opened]).toEqual([1, ['/given']]);
    await expect(around({}, '/not-here').tokenizers.load()).rejects.toMatchObject({ code: 'bad-config' });
  });

  it('by the engine for a request that can\'t be rendered here, and by nobody when the thread died', async () => {
    const { tokenizers, model, ask } = around({ tokenizerPath: '/models/llama' });
    model.fails = new RouterError('bad-request', 'no');
    expect(await ask()).toBe(2);
    model.fails = new RouterError('internal', 'dead');
    await expect(ask()).rejects.toMatchObject({ code: 'internal' });
    expect(tokenizers.counters).toEqual({ tokenizerThreadDeaths: 1, tokenizerOverrun: 2, tokenizerLeftToEngines: 1, tokenizersGivenUp: 0 });
  });

  it('by its engines once several counts differ, until it has other engines', async () => {
    const { tokenizers, ask, now } = around({ tokenizerPath: '/models/llama' });
    const counted = (engines: number): void => tokenizers.counted({ pool, ours: 10, engines });
    for (const engines of [10, 12, 10, 12]) counted(engines);
    expect(await ask()).toBe(1);
    counted(12);
    expect([await ask(), tokenizers.counters['tokenizersGivenUp']]).toEqual([2, 1]);
    now.model = { tokenizerPath: '/models/llama', contextLength: 4096, engines: 'two' };
    expect(await ask()).toBe(1);
  });

  it('by a model that differs seldom: what is long ago does not count', async () => {
    const { tokenizers, ask } = around({ tokenizerPath: '/models/llama' });
    for (let round = 0; round < 5; round++) {
      tokenizers.counted({ pool, ours: 10, engines: 12 });
      for (let number = 0; number < 40; number++) tokenizers.counted({ pool, ours: 10, engines: 10 });
    }
    expect(await ask()).toBe(1);
  });

  it('until it is closed, and its threads with it', async () => {
    const { tokenizers, model, ask } = around({ tokenizerPath: '/models/llama' });
    await ask();
    await tokenizers.close();
    expect(model.closed).toBe(true);
  });
});

describe('why counts may differ', () => {
  const cause = (ours: number, engines: number, directory: string | null = '/m'): string => likelyCause({ pool, ours, engines }, { directory, contextLength: 100 });

  it('is told by how they differ', () => {
    expect(cause(10, 11)).toMatch(/around the text/);
    expect(cause(200, 99)).toMatch(/context length/);
    expect(cause(10, 30)).toMatch(/another tokenizer or chat template: compare \/m/);
    expect(cause(10, 30, null)).toMatch(/own tokenize endpoint/);
  });
});
