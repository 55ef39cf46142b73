import type { ErrorCode } from '../../core/router-error.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';

/** Failures of a rank before its first byte: another rank may do it. What was wrong with the request is not among them. */
const elsewhere: readonly ErrorCode[] = ['no-responder', 'engine-unreachable', 'worker-failed', 'worker-silent', 'stopping'];

export const mayGoElsewhere = (error: RouterError): boolean => elsewhere.includes(error.code);

/** Answers by which a healthy engine says that it has no room: one more attempt each, and no word against its health. */
const busyStatus: readonly number[] = [429, 503];

export const isBusy = (status: number): boolean => busyStatus.includes(status);

/** Why a request was given up, from its signal's reason. */
export const asCancellation = (reason: unknown): RouterError => (reason instanceof RouterError ? reason : new RouterError('cancelled', 'the client closed the connection'));

export function asRouterError(error: unknown): RouterError {
  return error instanceof RouterError ? error : new RouterError('internal', messageOf(error), { cause: error });
}
