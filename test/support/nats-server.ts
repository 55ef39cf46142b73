import { startNatsServer, type NatsServerProcess } from '../../src/adapters/system/nats-server.ts';
import type { Log } from '../../src/ports/log.ts';

/** A log that keeps nothing. */
export const silentLog: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** A real nats-server on a free port with its own empty store; call `stop` when done. `NATS_SERVER_BIN` chooses which. */
export function startTestNats(): Promise<NatsServerProcess> {
  return startNatsServer({}, silentLog);
}
