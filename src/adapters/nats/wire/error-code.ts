import type { ErrorCode } from '../../../core/router-error.ts';

/** Complete by its type, so that a new code fails to compile here. */
const codes: Readonly<Record<ErrorCode, true>> = {
  'bad-request': true,
  'bad-json': true,
  'body-too-large': true,
  'prompt-too-long': true,
  'unknown-model': true,
  'unknown-target': true,
  'session-id-too-long': true,
  'not-found': true,
  'no-worker': true,
  'all-overloaded': true,
  'no-responder': true,
  'worker-silent': true,
  'worker-failed': true,
  'engine-unreachable': true,
  'engine-stream-broken': true,
  'payload-too-large': true,
  cancelled: true,
  'deadline-exceeded': true,
  stopping: true,
  'bus-unavailable': true,
  'bad-config': true,
  'port-in-use': true,
  'nats-server-missing': true,
  internal: true,
};

const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(codes, text);

/** A code of an agent that is newer than us is a failure of the worker to us. */
export const parseErrorCode = (text: string): ErrorCode => (isErrorCode(text) ? text : 'worker-failed');
