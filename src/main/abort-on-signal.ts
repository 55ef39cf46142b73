import { setMaxListeners } from 'node:events';
import { RouterError } from '../core/router-error.ts';
import { untilStopped } from './command-tools.ts';

/** Aborts at SIGINT or SIGTERM, so that a long command stops what it started before the process ends. */
export function abortOnSignal(): AbortSignal {
  const stop = new AbortController();
  // One listener for each request on its way and each one that waits for its time: no leak, however many.
  setMaxListeners(0, stop.signal);
  void untilStopped().then((signal) => stop.abort(new RouterError('cancelled', `stopped by ${signal}`)));
  return stop.signal;
}
