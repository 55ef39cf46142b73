import { readFileSync } from 'node:fs';
import { isJsonObject, parseJsonObject, textIn } from '../../../src/adapters/engine-http/json-fields.ts';
import { sharedPath } from '../../support/shared-data.ts';

/** One HTTP exchange with a real engine, as `fixtures/README.md` describes it. */
export interface RecordedExchange {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly requestHeaders: readonly (readonly [string, string])[];
  readonly requestBody: string;
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
  /** As they came; the body alone where it was not chunked. */
  readonly chunks: readonly Buffer[];
}

const pairs = (value: unknown): [string, string][] =>
  (Array.isArray(value) ? (value as readonly unknown[]) : isJsonObject(value) ? Object.entries(value) : []).flatMap((pair): [string, string][] => (Array.isArray(pair) ? [[String(pair[0]), String(pair[1])]] : []));

/** `folder` under fixtures, e.g. `sglang/0.5.23/server-plain/http`. */
export function recordedExchange(folder: string, name: string): RecordedExchange {
  const recorded = parseJsonObject(readFileSync(sharedPath('fixtures', ...folder.split('/'), `${name}.json`), 'utf8'));
  const request = recorded?.['request'];
  const response = recorded?.['response'];
  if (!isJsonObject(request) || !isJsonObject(response)) throw new Error(`${folder}/${name} is no exchange`);
  const body = Buffer.from(textIn(response, 'bodyBase64') ?? '', 'base64');
  const chunks = Array.isArray(response['chunks']) ? (response['chunks'] as readonly unknown[]).map((chunk) => Buffer.from(String(chunk), 'base64')) : [body];
  return {
    name,
    method: String(request['method']),
    path: String(request['path']),
    requestHeaders: pairs(request['headers']),
    requestBody: typeof request['body'] === 'string' ? request['body'] : '',
    status: Number(response['status']),
    headers: pairs(response['headers']),
    body,
    chunks,
  };
}
