import type { RequestId, SessionId } from '../../core/identity/ids.ts';
import type { WorkerRegistration } from '../../core/identity/registration.ts';
import type { DpRank } from '../../core/identity/ids.ts';
import type { Endpoint } from './endpoint.ts';
import { isBatch } from './endpoint.ts';

export interface BodyPlan {
  readonly endpoint: Endpoint;
  readonly body: Uint8Array;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly requestId: RequestId;
  readonly registration: WorkerRegistration;
  readonly rank: DpRank;
  /** The session that a header named; null: none did. */
  readonly session: SessionId | null;
}

/**
 * The body for the engine: what SGLang needs to know besides is put in front of the client's own fields, whose bytes
 * stay as they are. A field that the client sent is left alone.
 */
export function engineBody(plan: BodyPlan): Uint8Array {
  const added = addedFields(plan);
  if (added.length === 0) return plan.body;
  const more = Object.keys(plan.fields).length > 0 ? ',' : '';
  const text = new TextEncoder().encode(added.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',') + more);
  return spliced(plan.body, text);
}

type Added = readonly [name: string, value: string | number];

function addedFields({ endpoint, fields, requestId, registration, rank, session }: BodyPlan): Added[] {
  if (registration.engineKind !== 'sglang' || endpoint === 'other') return [];
  const added: Added[] = [];
  const generates = endpoint !== 'embeddings';
  // The engine's request is ended by this id. For several prompts at once it would have to be a list.
  if (generates && isAbsent(fields, 'rid') && !isBatch(fields)) added.push(['rid', requestId]);
  if (registration.ranks.length > 1 && isAbsent(fields, 'routed_dp_rank') && isAbsent(fields, 'data_parallel_rank')) {
    added.push([atLeast(registration.engineVersion, [0, 5, 12]) ? 'routed_dp_rank' : 'data_parallel_rank', rank]);
  }
  const takesSession = generates && isAbsent(fields, 'session_id') && isAbsent(fields, 'session_params') && atLeast(registration.engineVersion, [0, 5, 20]);
  if (session !== null && takesSession) added.push(['session_id', session]);
  return added;
}

const isAbsent = (fields: Readonly<Record<string, unknown>>, name: string): boolean => !(name in fields);

/** A version that can't be read is taken to be old: an unknown field is worse than a missing one. */
function atLeast(version: string, wanted: readonly number[]): boolean {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  if (parts === undefined) return false;
  for (const [place, least] of wanted.entries()) {
    const part = parts[place] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

const brace = 0x7b;

/** `text` behind the first brace; a body that was parsed as an object has one. */
function spliced(body: Uint8Array, text: Uint8Array): Uint8Array {
  const at = body.indexOf(brace) + 1;
  const out = new Uint8Array(body.length + text.length);
  out.set(body.subarray(0, at), 0);
  out.set(text, at);
  out.set(body.subarray(at), at + text.length);
  return out;
}
