import { assertNever } from '../../../core/assert-never.ts';
import type { CacheEvent } from '../../../core/engine-model/cache-event.ts';

const medium = 'GPU';
const digestBytes = 32;
/** One KV cache group, with full attention. */
const group = { group_idx: 0, kv_cache_spec_kind: 'full_attention' } as const;

type WireHash = bigint | number;

/** The last eight bytes of a digest, unsigned; msgpack writes it in its shortest form, as vLLM does. */
function wireHash(digests: Uint8Array, page: number): WireHash {
  const view = new DataView(digests.buffer, digests.byteOffset, digests.byteLength);
  const value = view.getBigUint64((page + 1) * digestBytes - 8);
  return value <= 0xffff_ffffn ? Number(value) : value;
}

const wireHashes = (digests: Uint8Array): WireHash[] => Array.from({ length: digests.length / digestBytes }, (_, page) => wireHash(digests, page));

function stored(event: Extract<CacheEvent, { kind: 'stored' }>, pageSize: number): object {
  const hashes = wireHashes(event.digests);
  const salted = event.parent === null && event.salt !== null && event.salt !== '';
  return {
    type: 'BlockStored',
    block_hashes: hashes,
    parent_block_hash: event.parent === null ? null : wireHash(event.parent, 0),
    token_ids: Array.from(event.tokens),
    block_size: pageSize,
    lora_id: null,
    medium,
    lora_name: null,
    // The salt stands at the prompt's first block alone: those after it are told apart by their parent.
    extra_keys: hashes.map((_, page) => (salted && page === 0 ? [event.salt] : null)),
    ...group,
  };
}

/** One event a block, from the tail of each evicted run to its head. */
const removed = (runs: readonly Uint8Array[]): object[] =>
  runs.flatMap((digests) => wireHashes(digests).reverse().map((hash) => ({ type: 'BlockRemoved', block_hashes: [hash], medium, group_idx: group.group_idx })));

/** A change of the cache as vLLM 0.32 tells it: maps, their keys in its order. */
export function vllmEvents(event: CacheEvent, pageSize: number): object[] {
  switch (event.kind) {
    case 'stored':
      return [stored(event, pageSize)];
    case 'removed':
      return removed(event.runs);
    case 'cleared':
      return [{ type: 'AllBlocksCleared' }];
    default:
      return assertNever(event, 'cache event');
  }
}
