import { InvalidArgumentError } from 'commander';
import { messageOf, RouterError } from '../core/router-error.ts';

/** Exit codes that scripts can use. */
export const exitCodes = { failed: 1, usage: 2, unreachable: 3, comparisonFailed: 4 } as const;

/** Parsers for commander options: each names the option's limits in its error. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`give a whole number from ${min} to ${max}.`);
  };

export const positiveNumber = (text: string): number => {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('give a number above 0.');
};

export const oneOf =
  <T extends string>(values: readonly T[]) =>
  (text: string): T => {
    const found = values.find((value) => value === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`give one of ${values.join(', ')}.`);
  };

/** A comma-separated list, each part by its own parser. */
export const listOf =
  <T>(parse: (text: string) => T) =>
  (text: string): readonly T[] =>
    text.split(',').map((part) => parse(part.trim()));

/** An `http://host:port` without a slash at its end, so that paths can be put behind it. */
export const httpUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('give a URL like http://127.0.0.1:30000.');
};

/** The one place a command's failure becomes a message on standard error and an exit code. */
export function exitWith(error: unknown): never {
  const code = error instanceof RouterError ? error.code : 'internal';
  process.stderr.write(`kinroute: ${messageOf(error)}\n`);
  if (code === 'internal' && error instanceof Error && process.env['KINROUTE_DEBUG'] !== undefined) process.stderr.write(`${error.stack ?? ''}\n`);
  const unreachable: readonly string[] = ['bus-unavailable', 'engine-unreachable', 'nats-server-missing'];
  process.exit(code === 'bad-config' || code === 'port-in-use' ? exitCodes.usage : unreachable.includes(code) ? exitCodes.unreachable : exitCodes.failed);
}

/** Wraps a command's action so that a rejection ends the process with its message. */
export const action =
  <Args extends unknown[]>(run: (...args: Args) => Promise<void>) =>
  (...args: Args): Promise<void> =>
    run(...args).catch(exitWith);

/** Resolves with the signal's name at the first SIGINT or SIGTERM; a second one ends the process at once. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (asked) process.exit(exitCodes.failed);
      asked = true;
      resolve(signal);
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });
}
