import { RouterError } from '../core/router-error.ts';
import type { Clock } from '../ports/clock.ts';

/** Resolves after `ms`, at once where that is not above 0, or rejects with the signal's reason when it aborts first. */
export function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(reasonOf(signal));
    if (ms <= 0) return resolve();
    const onAbort = (): void => {
      cancel();
      reject(reasonOf(signal));
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

const reasonOf = (signal: AbortSignal): Error => (signal.reason instanceof Error ? signal.reason : new RouterError('cancelled', 'stopped while waiting'));
