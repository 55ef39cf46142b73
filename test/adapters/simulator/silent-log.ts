import type { Log } from '../../../src/ports/log.ts';

export const silentLog: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
