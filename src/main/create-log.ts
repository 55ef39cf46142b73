import { pino } from 'pino';
import type { Log } from '../ports/log.ts';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** JSON lines on standard error: standard output is for a command's result alone. */
export function createLog(name: string, level: LogLevel): Log {
  return pino({ name, level, base: { name }, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ dest: 2, sync: true }));
}
