import { startNatsServer, type NatsServerProcess } from '../../src/adapters/system/nats-server.ts';
import { silentLog } from './silent-log.ts';

/** A real nats-server on a free port with its own empty store; call `stop` when done. `NATS_SERVER_BIN` chooses which. */
export function startTestNats(): Promise<NatsServerProcess> {
  return startNatsServer({}, silentLog);
}
