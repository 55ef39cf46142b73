import type { ErrorCode } from './router-error.ts';

/** What the client did wrong; all other codes are ours or the workers'. */
const clientCodes: readonly ErrorCode[] = [
  'bad-request',
  'bad-json',
  'body-too-large',
  'prompt-too-long',
  'unknown-model',
  'unknown-target',
  'session-id-too-long',
  'not-found',
  'payload-too-large',
];

/** An error's JSON in the shape that OpenAI clients read. */
export function errorBody(code: ErrorCode, message: string): string {
  const type = clientCodes.includes(code) ? 'invalid_request_error' : 'server_error';
  return JSON.stringify({ error: { message, type, code } });
}
