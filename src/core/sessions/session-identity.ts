import type { SessionId, TenantId } from '../identity/ids.ts';
import { parseSessionId } from '../identity/ids.ts';
import type { SessionRef } from '../placement/placement.ts';

/** A request's header by its lower-case name; null where it was not sent. */
export type ReadHeader = (name: string) => string | null;

/** What one family of headers says; `session` null: the family was not used. */
interface Family {
  readonly session: SessionId | null;
  readonly parent: SessionId | null;
}

type ReadFamily = (id: (name: string) => SessionId | null, body: Readonly<Record<string, unknown>>) => Family;

const pair =
  (sessionName: string, parentName: string): ReadFamily =>
  (id) => {
    const session = id(sessionName);
    return { session, parent: session === null ? null : id(parentName) };
  };

/** An agent is a session of its own, whose parent is another agent or else the session it runs in. A root has none. */
const claudeCode: ReadFamily = (id) => {
  const session = id('x-claude-code-session-id');
  const agent = id('x-claude-code-agent-id');
  if (agent === null) return { session, parent: null };
  return { session: agent, parent: id('x-claude-code-parent-agent-id') ?? session };
};

const textId = (value: unknown): SessionId | null => (typeof value === 'string' ? parseSessionId(value) : null);

/** SGLang's own field, on its native and its OpenAI routes. */
const bodyField: ReadFamily = (_id, body) => ({ session: textId(body['session_id']), parent: null });

const sessionControl: ReadFamily = (_id, body) => ({ session: textId(fieldOf(fieldOf(body['nvext'], 'session_control'), 'session_id')), parent: null });

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}

/** In order: the first that names a session is used alone, parent and all. */
const families: readonly ReadFamily[] = [
  pair('x-kinroute-session-id', 'x-kinroute-parent-session-id'),
  pair('x-dynamo-session-id', 'x-dynamo-parent-session-id'),
  claudeCode,
  pair('thread-id', 'x-codex-parent-thread-id'),
  pair('x-session-id', 'x-parent-session-id'),
  bodyField,
  sessionControl,
];

/**
 * Which session a request belongs to, by its headers or its body, for this tenant; null where nothing says so.
 * Throws `session-id-too-long` for an id of more than 256 bytes in the family that counts.
 */
export function sessionOf(header: ReadHeader, body: Readonly<Record<string, unknown>>, tenant: TenantId): SessionRef | null {
  const id = (name: string): SessionId | null => {
    const text = header(name);
    return text === null ? null : parseSessionId(text);
  };
  for (const read of families) {
    const { session, parent } = read(id, body);
    if (session !== null) return { tenant, session, parent: parent === session ? null : parent };
  }
  return null;
}

/** Whether the client says that this is its session's last request, so that its binding can go when it ends. */
export function isSessionFinal(header: ReadHeader): boolean {
  const said = header('x-kinroute-session-final') ?? header('x-dynamo-session-final');
  return said !== null && ['1', 'true'].includes(said.trim().toLowerCase());
}
