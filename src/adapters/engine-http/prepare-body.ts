import { Buffer } from 'node:buffer';
import { mergedSalt } from '../../core/identity/merged-salt.ts';
import type { JsonMember } from './json-members.ts';
import { jsonMembers } from './json-members.ts';
import type { JsonObject } from './json-fields.ts';
import { objectIn, parseJsonObject } from './json-fields.ts';

/** What goes to the engine: the body (edited or the same bytes), or a refusal with what to change. */
export type PreparedBody = { readonly kind: 'pass'; readonly body: Uint8Array } | { readonly kind: 'refused'; readonly message: string };

/** Both engines take a `\u` escape in a key for the letter, so a text that has one is looked at as a whole. */
const mayName = (body: Buffer, key: string): boolean => body.includes(key) || body.includes('\\u');

/**
 * vLLM reports reuse as stores where `vllm_xargs.kv_cache_report_mode` asks for it, and nothing tells the two apart:
 * such a request is refused. A body that is no JSON object passes: the engine says what is wrong with it.
 */
export function prepareVllmBody(bytes: Uint8Array): PreparedBody {
  const body = asBuffer(bytes);
  if (!mayName(body, 'kv_cache_report_mode')) return { kind: 'pass', body: bytes };
  const xargs = objectIn(parseJsonObject(body.toString('utf8')) ?? {}, 'vllm_xargs');
  if (!('kv_cache_report_mode' in xargs)) return { kind: 'pass', body: bytes };
  return { kind: 'refused', message: 'vllm_xargs.kv_cache_report_mode is not let through: it makes the engine report reuse as new blocks. send the request without it' };
}

/**
 * SGLang's events name a `cache_salt` but no `extra_key`; the two isolate alike. So the key goes on as (part of) the
 * salt. The text is edited in place, the rest of it keeps its bytes. Keys given as lists (batches) are left alone.
 */
export function prepareSglangBody(bytes: Uint8Array): PreparedBody {
  const body = asBuffer(bytes);
  if (!mayName(body, 'extra_key')) return { kind: 'pass', body: bytes };
  const fields = parseJsonObject(body.toString('utf8'));
  const salt = fields === null ? null : saltFor(fields);
  return { kind: 'pass', body: salt === null ? bytes : withSalt(body, salt) };
}

/** Null where there is no extra key to carry over. */
function saltFor(fields: JsonObject): string | null {
  const extraKey = fields['extra_key'];
  const salt = fields['cache_salt'] ?? null;
  if (typeof extraKey !== 'string' || extraKey === '') return null;
  return salt === null || typeof salt === 'string' ? mergedSalt(salt, extraKey) : null;
}

/** Every `extra_key` becomes null and every `cache_salt` the salt: of a key that comes twice the engine takes the last. */
function withSalt(body: Buffer, salt: string): Buffer {
  const value = JSON.stringify(salt);
  const members = jsonMembers(body);
  const edits = members.flatMap((member) => (member.key === 'extra_key' ? [{ member, value: 'null' }] : member.key === 'cache_salt' ? [{ member, value }] : []));
  const edited = replaced(body, edits);
  if (members.some((member) => member.key === 'cache_salt')) return edited;
  const brace = edited.indexOf('{') + 1;
  return Buffer.concat([edited.subarray(0, brace), Buffer.from(`"cache_salt":${value},`), edited.subarray(brace)]);
}

function replaced(body: Buffer, edits: readonly { readonly member: JsonMember; readonly value: string }[]): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const { member, value } of edits) {
    parts.push(body.subarray(from, member.start), Buffer.from(value));
    from = member.end;
  }
  return Buffer.concat([...parts, body.subarray(from)]);
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
