import { RouterError } from '../../../core/router-error.ts';

export type HttpHeaders = readonly (readonly [string, string])[];

/** A list of name and value pairs, in the order and with the repetitions that came. */
export function decodeHeaders(list: readonly unknown[], what: string): HttpHeaders {
  return list.map((pair) => {
    const parts: readonly unknown[] = Array.isArray(pair) ? pair : [];
    const [name, value] = parts;
    if (typeof name === 'string' && typeof value === 'string' && parts.length === 2) return [name, value] as const;
    throw new RouterError('bad-request', `${what}: a header is no pair of texts`);
  });
}
