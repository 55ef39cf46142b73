/** Every failure that a caller may have to tell apart; http-front/error-status.ts maps each to a status. */
export type ErrorCode =
  | 'bad-request'
  | 'bad-json'
  | 'body-too-large'
  | 'prompt-too-long'
  | 'unknown-model'
  | 'unknown-target'
  | 'session-id-too-long'
  | 'not-found'
  | 'no-worker'
  | 'all-overloaded'
  | 'no-responder'
  | 'worker-silent'
  | 'worker-failed'
  | 'engine-unreachable'
  | 'engine-stream-broken'
  | 'payload-too-large'
  | 'cancelled'
  | 'deadline-exceeded'
  | 'stopping'
  | 'bus-unavailable'
  | 'bad-config'
  | 'port-in-use'
  | 'nats-server-missing'
  | 'internal';

/** The one error class: a code from a closed list, a message that names ids and the way out, the cause. */
export class RouterError extends Error {
  override readonly name = 'RouterError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
