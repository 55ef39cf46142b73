import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { RouterError } from '../../core/router-error.ts';
import { requestHeaders } from './pass-headers.ts';
import { abortedBecause, unreachable } from './transport-error.ts';

/**
 * uvicorn closes a connection that was idle for 5 s, and a request that is sent just then is lost: ours are given up
 * well before. undici sets TCP_NODELAY on each.
 */
const idleConnectionMs = 2_000;
const connectPatienceMs = 5_000;

export interface EngineCall {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array | null;
}

/** Kept-alive connections to one engine. Neither head nor body has a time limit of its own: the caller's signal has. */
export class EngineConnection {
  readonly url: string;
  readonly #apiKey: string | null;
  readonly #pool: Pool;

  /** Throws `bad-config` for what is no `http(s)://host:port`. */
  constructor(url: string, apiKey: string | null) {
    this.url = parseEngineUrl(url);
    this.#apiKey = apiKey;
    this.#pool = new Pool(this.url, { pipelining: 1, keepAliveTimeout: idleConnectionMs, keepAliveMaxTimeout: idleConnectionMs, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: connectPatienceMs } });
  }

  /** Resolves with the head. Rejects with `engine-unreachable`, or as the signal says. */
  async call(call: EngineCall, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    if (signal.aborted) throw abortedBecause(signal);
    const { method, path, headers, body } = call;
    try {
      return await this.#pool.request({ method: parseMethod(method), path, headers: requestHeaders(headers, this.#apiKey), body, signal });
    } catch (error) {
      if (signal.aborted) throw abortedBecause(signal);
      throw unreachable(this.url, error);
    }
  }

  /** A small answer, read whole. */
  async get(path: string, signal: AbortSignal): Promise<{ readonly status: number; readonly text: string }> {
    const response = await this.call({ method: 'GET', path, headers: [], body: null }, signal);
    try {
      return { status: response.statusCode, text: await response.body.text() };
    } catch (error) {
      if (signal.aborted) throw abortedBecause(signal);
      throw unreachable(this.url, error);
    }
  }

  /** Breaks off whatever is under way. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

function parseEngineUrl(text: string): string {
  if (URL.canParse(text)) {
    const url = new URL(text);
    if (/^https?:$/.test(url.protocol) && /^\/?$/.test(url.pathname)) return url.origin;
  }
  throw new RouterError('bad-config', `engine ${JSON.stringify(text)} is no http://host:port: give the server's own address`);
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'] as const;

function parseMethod(text: string): Dispatcher.HttpMethod {
  const found = methods.find((method) => method === text.toUpperCase());
  if (found !== undefined) return found;
  throw new RouterError('bad-request', `method ${JSON.stringify(text.slice(0, 20))} can't be passed on to an engine`);
}
