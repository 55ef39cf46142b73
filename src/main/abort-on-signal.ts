import { RouterError } from '../core/router-error.ts';
import { untilStopped } from './command-tools.ts';

/** Aborts at SIGINT or SIGTERM, so that a long command stops what it started before the process ends. */
export function abortOnSignal(): AbortSignal {
  const stop = new AbortController();
  void untilStopped().then((signal) => stop.abort(new RouterError('cancelled', `stopped by ${signal}`)));
  return stop.signal;
}
