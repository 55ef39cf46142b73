import { Buffer } from 'node:buffer';
import type { DpRank } from '../../core/identity/ids.ts';
import { messageOf } from '../../core/router-error.ts';
import type { EngineClient, EngineDescription, EngineLoad } from '../../ports/engine.ts';
import type { Log } from '../../ports/log.ts';
import type { EngineRequest, EngineResponse } from '../../ports/request-transport.ts';
import type { DescribeOverrides } from './describe-overrides.ts';
import type { EngineKind } from './discover-engine.ts';
import { discoverEngine } from './discover-engine.ts';
import { EngineConnection } from './engine-connection.ts';
import { parseJsonObject, textIn } from './json-fields.ts';
import { responseHeaders } from './pass-headers.ts';
import type { PreparedBody } from './prepare-body.ts';
import { prepareSglangBody, prepareVllmBody } from './prepare-body.ts';
import { readLoads } from './read-loads.ts';
import { streamBody } from './stream-body.ts';

const abortPatienceMs = 5_000;

export interface EngineClientOptions {
  readonly url: string;
  /** Sent as Bearer; never logged. */
  readonly apiKey: string | null;
  /** Null: found out. */
  readonly kind: EngineKind | null;
  readonly overrides: DescribeOverrides;
  /** Sends SGLang's `extra_key` on as it is; its prompts are then placed without event knowledge. */
  readonly keepExtraKey: boolean;
}

/** One SGLang or vLLM server over HTTP. Answers pass as they come; a request that is left ends at the engine. */
export class HttpEngineClient implements EngineClient {
  readonly #connection: EngineConnection;
  readonly #options: EngineClientOptions;
  readonly #log: Log;
  readonly #aborts = new Set<Promise<void>>();
  #kind: EngineKind;
  /** An extra key goes on as part of the salt, so that events name it. */
  #carriesSalt: boolean;
  #ranks: readonly DpRank[] = [];

  /** Throws `bad-config` for an URL that is none. */
  constructor(options: EngineClientOptions, log: Log) {
    this.#options = options;
    this.#log = log;
    this.#kind = options.kind ?? 'sglang';
    this.#carriesSalt = !options.keepExtraKey;
    this.#connection = new EngineConnection(options.url, options.apiKey);
  }

  async describe(signal: AbortSignal): Promise<EngineDescription> {
    const { overrides, kind, keepExtraKey } = this.#options;
    const discovered = await discoverEngine({ connection: this.#connection, overrides }, kind, signal);
    const description = keepExtraKey ? withUnnamedExtraKey(discovered) : discovered;
    this.#kind = description.kind;
    this.#ranks = description.ranks;
    this.#carriesSalt = !description.unnamedInEvents.includes('extra-key');
    return description;
  }

  async send(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    const prepared = this.#prepare(request.body);
    if (prepared.kind === 'refused') return refusal(prepared.message);
    const { method, path, headers } = request;
    const { body } = prepared;
    const abandon = (): void => this.#abandon(request);
    signal.addEventListener('abort', abandon, { once: true });
    const settled = (): void => signal.removeEventListener('abort', abandon);
    try {
      const response = await this.#connection.call({ method, path, headers, body: body.length === 0 ? null : body }, signal);
      const pieces = streamBody(response.body, { engineUrl: this.#connection.url, signal, settled, abandon });
      return { status: response.statusCode, headers: responseHeaders(response.headers), body: pieces };
    } catch (error) {
      settled();
      throw error;
    }
  }

  /** SGLang answers 200 for any id. vLLM has no such route outside its development mode: there the disconnect ends it. */
  async abort(requestId: string): Promise<void> {
    if (this.#kind !== 'sglang') return;
    const body = Buffer.from(JSON.stringify({ rid: requestId }));
    const headers: [string, string][] = [['content-type', 'application/json']];
    const response = await this.#connection.call({ method: 'POST', path: '/abort_request', headers, body }, AbortSignal.timeout(abortPatienceMs));
    await response.body.dump();
  }

  loads(signal: AbortSignal): Promise<readonly EngineLoad[]> {
    return readLoads({ connection: this.#connection, kind: this.#kind, ranks: this.#ranks }, signal);
  }

  async close(): Promise<void> {
    await Promise.all(this.#aborts);
    await this.#connection.close();
  }

  #prepare(body: Uint8Array): PreparedBody {
    if (this.#kind === 'vllm') return prepareVllmBody(body);
    return this.#carriesSalt ? prepareSglangBody(body) : { kind: 'pass', body };
  }

  /**
   * The disconnect alone does not do: SGLang notices it when it next has something to say, or after seconds. The id is
   * the one in the body, which the router fills in.
   */
  #abandon(request: EngineRequest): void {
    const rid = textIn(parseJsonObject(Buffer.from(request.body).toString('utf8')) ?? {}, 'rid') ?? request.id;
    const aborting = this.abort(rid)
      .catch((error: unknown) => this.#log.warn({ requestId: request.id, error: messageOf(error) }, 'engine-abort-failed'))
      .finally(() => this.#aborts.delete(aborting));
    this.#aborts.add(aborting);
  }
}

/** Only SGLang has extra keys. */
function withUnnamedExtraKey(description: EngineDescription): EngineDescription {
  const { kind, unnamedInEvents } = description;
  return kind === 'vllm' || unnamedInEvents.includes('extra-key') ? description : { ...description, unnamedInEvents: [...unnamedInEvents, 'extra-key'] };
}

/** Shaped as the engines' own errors are. */
function refusal(message: string): EngineResponse {
  const body = Buffer.from(JSON.stringify({ error: { message, type: 'invalid_request_error', code: 400 } }));
  const headers: [string, string][] = [['content-type', 'application/json'], ['content-length', String(body.length)]];
  return { status: 400, headers, body: onePiece(body) };
}

async function* onePiece(piece: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield piece;
}
