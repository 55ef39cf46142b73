import type { ErrorCode } from '../../core/router-error.ts';

/** The HTTP status of each failure. 499: the client is gone, nobody reads it. */
export const errorStatus = {
  'bad-request': 400,
  'bad-json': 400,
  'body-too-large': 413,
  'prompt-too-long': 400,
  'unknown-model': 404,
  'unknown-target': 400,
  'session-id-too-long': 400,
  'not-found': 404,
  'no-worker': 503,
  'all-overloaded': 429,
  'no-responder': 503,
  'worker-silent': 504,
  'worker-failed': 502,
  'engine-unreachable': 502,
  'engine-stream-broken': 502,
  'payload-too-large': 413,
  cancelled: 499,
  'deadline-exceeded': 504,
  stopping: 503,
  'bus-unavailable': 503,
  'bad-config': 500,
  'port-in-use': 500,
  'nats-server-missing': 500,
  internal: 500,
} as const satisfies Record<ErrorCode, number>;
