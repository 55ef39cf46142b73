import { describe, expect, it } from 'vitest';
import { tenantId } from '../../../src/core/identity/ids.ts';
import type { SessionRef } from '../../../src/core/placement/placement.ts';
import { isSessionFinal, sessionOf } from '../../../src/core/sessions/session-identity.ts';

const tenant = tenantId('acme');
const identify = (headers: Readonly<Record<string, string>>, body: Readonly<Record<string, unknown>> = {}): SessionRef | null =>
  sessionOf((name) => headers[name] ?? null, body, tenant);
const found = (session: string, parent: string | null = null): object => ({ tenant, session, parent });

describe('sessionOf', () => {
  it.each([
    ['x-kinroute-session-id', 'x-kinroute-parent-session-id'],
    ['x-dynamo-session-id', 'x-dynamo-parent-session-id'],
    ['thread-id', 'x-codex-parent-thread-id'],
    ['x-session-id', 'x-parent-session-id'],
  ])('reads %s and %s', (own, parent) => {
    expect(identify({ [own]: ' a ' })).toEqual(found('a'));
    expect(identify({ [own]: 'a', [parent]: ' b ' })).toEqual(found('a', 'b'));
    expect(identify({ [parent]: 'b' })).toBeNull();
  });

  it('reads the body: session_id, and else nvext.session_control', () => {
    expect(identify({}, { session_id: 'a' })).toEqual(found('a'));
    expect(identify({}, { nvext: { session_control: { session_id: 'b', action: 'open' } } })).toEqual(found('b'));
    expect(identify({}, { session_id: 'a', nvext: { session_control: { session_id: 'b' } } })).toEqual(found('a'));
  });

  it.each([[{ session_id: 7 }], [{ session_id: null }], [{ nvext: 'x' }], [{ nvext: { session_control: [] } }], [{ nvext: { session_control: { session_id: {} } } }]])(
    'takes nothing from a body like %j',
    (body) => {
      expect(identify({}, body)).toBeNull();
    },
  );

  it('uses the first family that names a session alone, and takes no parent from another', () => {
    const headers = { 'x-session-id': 'open', 'x-parent-session-id': 'code', 'thread-id': 'codex', 'x-dynamo-session-id': 'dyn', 'x-dynamo-parent-session-id': 'amo' };
    expect(identify(headers, { session_id: 'body' })).toEqual(found('dyn', 'amo'));
    expect(identify({ ...headers, 'x-kinroute-session-id': 'kin' })).toEqual(found('kin'));
    expect(identify({ 'x-session-id': 'open', 'x-codex-parent-thread-id': 'codex' })).toEqual(found('open'));
  });

  it('S2: an id that another begins with is another session', () => {
    expect(identify({ 'x-session-id': 'session-1' })).not.toEqual(identify({ 'x-session-id': 'session-12' }));
  });

  it('S4: a Claude agent is a session whose parent is the agent it names, and else the session it runs in', () => {
    const agent = { 'x-claude-code-session-id': 'S', 'x-claude-code-agent-id': 'a2' };
    expect(identify({ ...agent, 'x-claude-code-parent-agent-id': 'a1' })).toEqual(found('a2', 'a1'));
    expect(identify(agent)).toEqual(found('a2', 'S'));
    expect(identify({ 'x-claude-code-session-id': 'S', 'x-claude-code-parent-agent-id': 'a1' })).toEqual(found('S'));
  });

  it('S5: a session that names itself as its parent has none', () => {
    expect(identify({ 'x-kinroute-session-id': 'a', 'x-kinroute-parent-session-id': ' a' })).toEqual(found('a'));
    expect(identify({ 'x-claude-code-session-id': 'S', 'x-claude-code-agent-id': 'S' })).toEqual(found('S'));
  });

  it('S11: a 300-byte id is refused with what is allowed, a blank one is absent', () => {
    expect(() => identify({ 'x-session-id': 'x'.repeat(300) })).toThrow(expect.objectContaining({ code: 'session-id-too-long', message: expect.stringContaining('300 bytes, at most 256') as string }));
    expect(() => identify({}, { session_id: 'é'.repeat(129) })).toThrow('258 bytes');
    expect(() => identify({ 'x-session-id': 'a', 'x-parent-session-id': 'x'.repeat(257) })).toThrow('257 bytes');
    expect(identify({ 'x-session-id': 'x'.repeat(256) })).toEqual(found('x'.repeat(256)));
    expect(identify({ 'x-kinroute-session-id': '  ', 'x-session-id': 'a', 'x-parent-session-id': ' ' })).toEqual(found('a'));
    expect(identify({ 'x-session-id': '' })).toBeNull();
  });
});

describe('isSessionFinal', () => {
  it('is what the client said in either header', () => {
    const said = (headers: Readonly<Record<string, string>>): boolean => isSessionFinal((name) => headers[name] ?? null);
    expect([said({ 'x-kinroute-session-final': 'true' }), said({ 'x-dynamo-session-final': ' 1 ' })]).toEqual([true, true]);
    expect([said({}), said({ 'x-kinroute-session-final': 'false' })]).toEqual([false, false]);
  });
});
