#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { isObject } from '../core/evidence/trace-fields.ts';
import { exitCodes, exitWith } from './command-tools.ts';
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

/** The version of the package that this file is in. */
function packageVersion(): string {
  const value: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return isObject(value) && typeof value['version'] === 'string' ? value['version'] : 'unknown';
}

function createProgram(): Command {
  // Settings first: commands take them over from the program when they are registered.
  const program = new Command('kinroute')
    .description('places LLM requests on the worker that should serve them, over NATS')
    .version(packageVersion())
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : exitCodes.usage))
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'kinroute: ')) })
    .showHelpAfterError('(--help shows what there is)')
    .showSuggestionAfterError();
  for (const register of [registerUp, registerRouter, registerWorker, registerEngine, registerCompare, registerReplay, registerWatch, registerStatus, registerMode, registerEvents, registerDemo]) register(program);
  return program;
}

await createProgram().parseAsync().catch(exitWith);
