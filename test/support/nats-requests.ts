import { expect } from 'vitest';
import { parseDpRank, parsePoolId, parseWorkerId, requestId, type RankId } from '../../src/core/identity/ids.ts';
import { RouterError, type ErrorCode } from '../../src/core/router-error.ts';
import type { EngineRequest } from '../../src/ports/request-transport.ts';

export const pool = parsePoolId('llama');
export const worker = parseWorkerId('w1');
export const rank0: RankId = { worker, rank: parseDpRank(0) };
export const rank1: RankId = { worker, rank: parseDpRank(1) };
export const never: AbortSignal = new AbortController().signal;

export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
export const bytesOf = (content: string): Uint8Array => new TextEncoder().encode(content);

export const engineRequest = (change: Partial<EngineRequest> = {}): EngineRequest => ({
  id: requestId('r1'),
  method: 'POST',
  path: '/generate?x=1',
  headers: [['content-type', 'application/json']],
  body: bytesOf('{"text":"hello"}'),
  deadlineMs: 20_000,
  ...change,
});

/** Matches an error with this code. */
export const withCode = (code: ErrorCode): unknown => expect.objectContaining({ code });

/** The code that a promise was rejected with; `none` when it resolved. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof RouterError ? error.code : String(error)),
  );

/** A promise that a test's callback resolves. */
export function awaited<T = void>(): { readonly promise: Promise<T>; readonly fire: (value: T) => void } {
  let fire: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    fire = resolve;
  });
  return { promise, fire };
}

/** Collects values and lets a test wait for the first that fits. */
export class Collected<T> {
  readonly values: T[] = [];
  readonly #waiting = new Set<() => void>();

  readonly add = (value: T): void => {
    this.values.push(value);
    for (const check of [...this.#waiting]) check();
  };

  until(holds: (values: readonly T[]) => boolean): Promise<readonly T[]> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!holds(this.values)) return;
        this.#waiting.delete(check);
        resolve(this.values);
      };
      this.#waiting.add(check);
      check();
    });
  }
}
