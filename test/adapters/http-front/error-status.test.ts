import { expect, it } from 'vitest';
import { errorStatus } from '../../../src/adapters/http-front/error-status.ts';
import { errorBody } from '../../../src/core/error-body.ts';
import type { ErrorCode } from '../../../src/core/router-error.ts';

const codes = Object.keys(errorStatus) as ErrorCode[];

it('every code has a status that is an error, and what the client did wrong is a 4xx', () => {
  for (const code of codes) {
    const { error } = JSON.parse(errorBody(code, 'why')) as { readonly error: { readonly type: string; readonly code: string; readonly message: string } };
    const status = errorStatus[code];
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
    expect({ ...error, clientsFault: error.type === 'invalid_request_error' }).toEqual({ message: 'why', code, type: error.type, clientsFault: status < 500 && status !== 429 && status !== 499 });
  }
});

it('what another worker could do is told apart from what none could', () => {
  expect(codes.filter((code) => errorStatus[code] === 503)).toEqual(['no-worker', 'no-responder', 'stopping', 'bus-unavailable']);
  expect(codes.filter((code) => errorStatus[code] === 504)).toEqual(['worker-silent', 'deadline-exceeded']);
});
