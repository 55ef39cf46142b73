import { Encoder } from '@msgpack/msgpack';
import { assertNever } from '../../core/assert-never.ts';
import type { CacheEvent } from '../../core/engine-model/cache-event.ts';
import type { EngineWire } from './engine-wire.ts';
import { vllmEvents } from './vllm/vllm-events.ts';

const medium = 'GPU';
const digestBytes = 32;
const encoder = new Encoder({ useBigInt64: true });

type Stored = Extract<CacheEvent, { kind: 'stored' }>;
type WireHash = bigint | number;

/** The first eight bytes of a digest as a signed integer; msgpack then writes it in its shortest form, as SGLang does. */
function wireHash(digests: Uint8Array, index: number): WireHash {
  const view = new DataView(digests.buffer, digests.byteOffset, digests.byteLength);
  const value = view.getBigInt64(index * digestBytes);
  return value >= -0x80000000n && value <= 0xffffffffn ? Number(value) : value;
}

function wireHashes(digests: Uint8Array): WireHash[] {
  return Array.from({ length: digests.length / digestBytes }, (_, index) => wireHash(digests, index));
}

function storedMap(event: Stored, pageSize: number, wire: EngineWire): object {
  return {
    type: 'BlockStored',
    block_hashes: wireHashes(event.digests),
    parent_block_hash: event.parent === null ? null : wireHash(event.parent, 0),
    token_ids: Array.from(event.tokens),
    block_size: pageSize,
    lora_id: null,
    medium,
    ...(event.salt === null || event.salt === '' ? {} : { cache_salt: event.salt }),
    ...(event.sessionId === null || !wire.sessionInEvents ? {} : { session_id: event.sessionId }),
  };
}

function storedArray(event: Stored, pageSize: number, wire: EngineWire): unknown[] {
  const parent = event.parent === null ? null : wireHash(event.parent, 0);
  const fields: unknown[] = ['BlockStored', wireHashes(event.digests), parent, Array.from(event.tokens), pageSize, null, medium];
  if (wire.namespaces && event.salt !== null && event.salt !== '') fields.push({ cache_salt: event.salt });
  return fields;
}

function storedPerPage(event: Stored, pageSize: number): unknown[] {
  const hashes = wireHashes(event.digests);
  return hashes.map((hash, page) => {
    const parent = page > 0 ? hashes[page - 1] : event.parent === null ? null : wireHash(event.parent, 0);
    const tokens = Array.from(event.tokens.subarray(page * pageSize, (page + 1) * pageSize));
    return ['BlockStored', [hash], parent, tokens, pageSize, null, medium];
  });
}

function encodeStored(event: Stored, pageSize: number, wire: EngineWire): unknown[] {
  if (wire.storesPerEvent === 'page') return storedPerPage(event, pageSize);
  return [wire.events === 'map' ? storedMap(event, pageSize, wire) : storedArray(event, pageSize, wire)];
}

function encodeRemoved(runs: readonly Uint8Array[], wire: EngineWire): unknown[] {
  const hashes = runs.flatMap(wireHashes);
  if (wire.storesPerEvent === 'page') return hashes.map((hash) => ['BlockRemoved', [hash], medium]);
  return [wire.events === 'map' ? { type: 'BlockRemoved', block_hashes: hashes, medium } : ['BlockRemoved', hashes, medium]];
}

function encodeEvent(event: CacheEvent, pageSize: number, wire: EngineWire): unknown[] {
  if (wire.kind === 'vllm') return vllmEvents(event, pageSize);
  switch (event.kind) {
    case 'stored':
      return encodeStored(event, pageSize, wire);
    case 'removed':
      return encodeRemoved(event.runs, wire);
    case 'cleared':
      return [wire.events === 'map' ? { type: 'AllBlocksCleared' } : ['AllBlocksCleared']];
    default:
      return assertNever(event, 'cache event');
  }
}

export interface EventBatch {
  readonly events: readonly CacheEvent[];
  readonly rank: number;
  /** Seconds since 1970. */
  readonly atSeconds: number;
}

/** One message of the event socket: `[ts, events, rank]` in msgpack, its events as this engine and release writes them. */
export function encodeBatch(batch: EventBatch, pageSize: number, wire: EngineWire): Buffer {
  // msgpack would write a whole number of seconds as an integer, and a float is expected there.
  const ts = Number.isInteger(batch.atSeconds) ? batch.atSeconds + 1e-6 : batch.atSeconds;
  return Buffer.from(encoder.encode([ts, batch.events.flatMap((event) => encodeEvent(event, pageSize, wire)), batch.rank]));
}
