import { findNatsServer } from '../adapters/system/nats-server-binary.ts';
import { exitWith } from './command-tools.ts';
import { createLog } from './create-log.ts';

// Prints the path of a usable nats-server, brought if need be: what the set-up script asks before the tests.
try {
  process.stdout.write(`${await findNatsServer(createLog('setup', 'info'))}\n`);
} catch (error) {
  exitWith(error);
}
