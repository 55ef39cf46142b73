import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { isObject } from '../core/evidence/trace-fields.ts';
import { registerCompare } from './commands/compare.ts';
import { registerDemo } from './commands/demo.ts';
import { registerEngine } from './commands/engine.ts';
import { registerEvents } from './commands/events.ts';
import { registerMode } from './commands/mode.ts';
import { registerReplay } from './commands/replay.ts';
import { registerRouter } from './commands/router.ts';
import { registerStatus } from './commands/status.ts';
import { registerUp } from './commands/up.ts';
import { registerWatch } from './commands/watch.ts';
import { registerWorker } from './commands/worker.ts';

const commands = [
  registerUp,
  registerRouter,
  registerWorker,
  registerEngine,
  registerCompare,
  registerReplay,
  registerWatch,
  registerStatus,
  registerMode,
  registerEvents,
  registerDemo,
];

/** Where help and messages go. */
export interface ProgramOutput {
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
}

/** The whole command line. Help, version and wrong usage throw commander's `CommanderError`, its message already written. */
export function createProgram(output: ProgramOutput): Command {
  // Settings first: commands take them over from the program when they are registered.
  const program = new Command('kinroute')
    .description('places LLM requests on the worker that should serve them, over NATS')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({ ...output, outputError: (text, write) => write(text.replace(/^error: /, 'kinroute: ')) })
    .showHelpAfterError('(--help shows what there is)')
    .showSuggestionAfterError();
  for (const register of commands) register(program);
  return program;
}

/** The version of the package that this file is in, from source as from dist. */
function packageVersion(): string {
  const value: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return isObject(value) && typeof value['version'] === 'string' ? value['version'] : 'unknown';
}
