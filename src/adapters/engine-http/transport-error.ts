import { messageOf, RouterError } from '../../core/router-error.ts';

const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : '';
};

/** What an aborted signal stands for: its own reason where that is ours, else `cancelled`. */
export const abortedBecause = (signal: AbortSignal): RouterError =>
  signal.reason instanceof RouterError ? signal.reason : new RouterError('cancelled', 'request was cancelled', { cause: signal.reason });

/** No answer came: nothing says that the engine has begun. Names the engine and what to look at. */
export function unreachable(engineUrl: string, cause: unknown): RouterError {
  const why = codeOf(cause) === 'ECONNREFUSED' ? 'nothing listens there' : codeOf(cause) === '' ? messageOf(cause) : `${codeOf(cause)}: ${messageOf(cause)}`;
  return new RouterError('engine-unreachable', `engine ${engineUrl} does not answer (${why}): start it, or give its address with --engine`, { cause });
}

/** The answer broke off: the engine, or the way to it, died in mid-body. */
export const brokeOff = (engineUrl: string, cause: unknown): RouterError => new RouterError('worker-failed', `engine ${engineUrl} broke off in the middle of its answer (${messageOf(cause)})`, { cause });
