import type { Log } from '../../src/ports/log.ts';

/** For tests that are not about what is logged. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
