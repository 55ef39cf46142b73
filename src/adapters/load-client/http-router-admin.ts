import { Agent, request } from 'undici';
import type { LivePolicy } from '../../core/placement/placement.ts';
import { parentAffinities, placementModes } from '../../core/placement/placement.ts';
import type { ListedRank, RouterAdmin } from '../../ports/load-client.ts';
import { isObject } from '../../core/evidence/trace-fields.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import { errorText } from './generate-answer.ts';

type Fields = Readonly<Record<string, unknown>>;

// A router of another version may leave something out: what is listed is shown as far as it goes.
const text = (fields: Fields, name: string): string => {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
};
const count = (fields: Fields, name: string): number => {
  const value = fields[name];
  return typeof value === 'number' ? value : 0;
};
const inner = (fields: Fields, name: string): Fields => {
  const value = fields[name];
  return isObject(value) ? value : {};
};

function parseRank(value: unknown): ListedRank {
  const fields = isObject(value) ? value : {};
  const claimed = inner(fields, 'claimed');
  return {
    pool: text(fields, 'pool'),
    worker: text(fields, 'worker'),
    rank: count(fields, 'rank'),
    engineUrl: text(fields, 'engineUrl'),
    trust: text(fields, 'trust'),
    requests: count(claimed, 'requests'),
    prefillTokens: count(claimed, 'prefillTokens'),
    heldBlocks: count(fields, 'heldBlocks'),
  };
}

/** A router's own endpoints over HTTP. */
export class HttpRouterAdmin implements RouterAdmin {
  readonly #url: string;
  readonly #agent = new Agent();

  constructor(url: string) {
    this.#url = url;
  }

  async ready(signal: AbortSignal): Promise<boolean> {
    return (await this.#call('GET', '/health/ready', null, signal)).status === 200;
  }

  async ranks(signal: AbortSignal): Promise<readonly ListedRank[]> {
    const { workers } = await this.#json('GET', '/workers', null, signal);
    return Array.isArray(workers) ? workers.map(parseRank) : [];
  }

  async policy(signal: AbortSignal): Promise<LivePolicy> {
    const fields = await this.#json('GET', '/mode', null, signal);
    const mode = placementModes.find((name) => name === fields['mode']);
    const parentAffinity = parentAffinities.find((name) => name === fields['parentAffinity']);
    if (mode !== undefined && parentAffinity !== undefined) return { mode, parentAffinity };
    throw new RouterError('bus-unavailable', `${this.#url}/mode answered with a mode that is not known here: ${JSON.stringify(fields).slice(0, 200)}`);
  }

  async setPolicy(policy: LivePolicy, signal: AbortSignal): Promise<void> {
    await this.#json('PUT', '/mode', JSON.stringify(policy), signal);
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }

  async #json(method: 'GET' | 'PUT', path: string, body: string | null, signal: AbortSignal): Promise<Fields> {
    const { status, text: answer } = await this.#call(method, path, body, signal);
    const value: unknown = parseOrNull(answer);
    const fields = isObject(value) ? value : {};
    if (status < 400) return fields;
    throw new RouterError('bus-unavailable', `${method} ${this.#url}${path} answered ${status}: ${errorText(fields['error'] ?? answer.slice(0, 200))}`);
  }

  async #call(method: 'GET' | 'PUT', path: string, body: string | null, signal: AbortSignal): Promise<{ readonly status: number; readonly text: string }> {
    try {
      const headers = body === null ? {} : { 'content-type': 'application/json' };
      const response = await request(`${this.#url}${path}`, { method, headers, body, signal, dispatcher: this.#agent });
      return { status: response.statusCode, text: await response.body.text() };
    } catch (cause) {
      throw new RouterError('bus-unavailable', `router ${this.#url} does not answer: ${messageOf(cause)}`, { cause });
    }
  }
}

function parseOrNull(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    // Judged by the caller, by status: an answer that is no JSON has no fields.
    return null;
  }
}
