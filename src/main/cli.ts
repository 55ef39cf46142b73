#!/usr/bin/env node
import { CommanderError } from 'commander';
import { exitCodes, exitWith } from './command-tools.ts';
import { createProgram } from './program.ts';

const program = createProgram({
  writeOut: (text) => void process.stdout.write(text),
  writeErr: (text) => void process.stderr.write(text),
});

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) exitWith(error);
  process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage;
}
