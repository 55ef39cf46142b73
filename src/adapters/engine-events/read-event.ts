import type { EngineEvent, EngineGroup } from '../../core/kv-stream/engine-event.ts';
import { eventFields, type EventFields } from './event-fields.ts';
import { readExtraKeys } from './read-extra-keys.ts';
import { isAbsent, readHash, readHashes, readName, readTier, readTokens, readWhole, UnreadableEvent } from './read-values.ts';

/** What was read, and why the end of it was left out, if it was. */
export interface EventReading {
  readonly event: EngineEvent | null;
  readonly leftOut: string | null;
}

const maxPageSize = 65_535;
const maxGroup = 255;

/** One event in any form of any release. Throws `UnreadableEvent`. */
export function readEvent(value: unknown): EventReading {
  const fields = eventFields(value);
  if (fields === null) throw new UnreadableEvent('not-an-event');
  switch (fields['type']) {
    case 'BlockStored':
      return readStored(fields);
    case 'BlockRemoved':
      return whole({ kind: 'removed', hashes: readHashes(fields['block_hashes']), tier: readTier(fields['medium']), group: readGroupIndex(fields) });
    case 'AllBlocksCleared':
      return whole({ kind: 'cleared' });
    default:
      throw new UnreadableEvent('unknown-kind');
  }
}

const whole = (event: EngineEvent): EventReading => ({ event, leftOut: null });

function readStored(fields: EventFields): EventReading {
  const hashes = readHashes(fields['block_hashes']);
  const pageSize = readWhole(fields['block_size'], { min: 1, max: maxPageSize, reason: 'bad-page-size' });
  if (pageSize === null) throw new UnreadableEvent('bad-page-size');
  const parent = isAbsent(fields['parent_block_hash']) ? null : readHash(fields['parent_block_hash']);
  const { tokens, bigram } = readTokens(fields['token_ids']);
  const lora = readLora(fields);
  const extra = readExtraKeys(fields['extra_keys'], { lora, startsPrompt: parent === null, pages: hashes.length });
  const event = {
    kind: 'stored', parent, pageSize, bigram, lora,
    hashes: hashes.slice(0, extra.readable),
    tokens: extra.readable === hashes.length ? tokens : tokens.subarray(0, extra.readable * pageSize * (bigram ? 2 : 1)),
    tier: readTier(fields['medium']),
    salt: readName(fields['cache_salt'], 'bad-salt') ?? extra.salt,
    group: readGroup(fields),
  } as const;
  const leftOut = extra.readable === hashes.length ? null : 'unknown-extra-key';
  return { event: event.hashes.length === 0 ? null : event, leftOut: hashes.length === 0 ? 'no-hashes' : leftOut };
}

/** Where only the number is said, it keeps the adapter apart, though no request can name it. */
function readLora(fields: EventFields): string | null {
  const name = readName(fields['lora_name'], 'bad-lora');
  if (name !== null || isAbsent(fields['lora_id'])) return name;
  const id = fields['lora_id'];
  if (typeof id === 'number' || typeof id === 'bigint') return `lora-id ${id}`;
  return readName(id, 'bad-lora');
}

const readGroupIndex = (fields: EventFields): number | null => readWhole(fields['group_idx'], { min: 0, max: maxGroup, reason: 'bad-group' });

function readGroup(fields: EventFields): EngineGroup | null {
  const index = readGroupIndex(fields);
  if (index === null) return null;
  const slidingWindow = readWhole(fields['kv_cache_spec_sliding_window'], { min: 1, max: 0x7fff_ffff, reason: 'bad-window' });
  return { index, kind: readName(fields['kv_cache_spec_kind'], 'bad-group') ?? 'full_attention', slidingWindow };
}
