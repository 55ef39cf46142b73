import { encode } from '@msgpack/msgpack';
import { assertNever } from '../../../core/assert-never.ts';
import { epoch } from '../../../core/identity/ids.ts';
import type { KvBatch, KvEvent, StorageTier } from '../../../core/kv-stream/kv-event.ts';
import { Fields, msgpackFields } from './fields.ts';
import { bytesOfHashes, hashesOfBytes } from './hashes.ts';

const tiers: readonly StorageTier[] = ['device', 'host', 'disk', 'external'];

/** `{v, epoch, seq, events}`; events are maps, a run of hashes is one binary field. */
export function encodeKvBatch(batch: KvBatch): Uint8Array {
  return encode({ v: 1, epoch: batch.epoch, seq: batch.seq, events: batch.events.map(encodeKvEvent) });
}

export function decodeKvBatch(data: Uint8Array): KvBatch {
  const fields = msgpackFields(data, 'kv batch');
  fields.version(1);
  return { epoch: epoch(fields.text('epoch')), seq: fields.whole('seq'), events: fields.list('events').map(decodeKvEvent) };
}

export function encodeKvEvent(event: KvEvent): Readonly<Record<string, unknown>> {
  switch (event.kind) {
    case 'stored':
      return { kind: 'stored', parent: event.parent === null ? null : bytesOfHashes(event.parent), hashes: bytesOfHashes(event.hashes), tier: event.tier };
    case 'removed':
      return { kind: 'removed', hashes: bytesOfHashes(event.hashes), tier: event.tier };
    case 'cleared':
      return { kind: 'cleared' };
    default:
      return assertNever(event, 'kv event');
  }
}

function decodeKvEvent(value: unknown): KvEvent {
  const fields = new Fields(value, 'kv event');
  const kind = fields.oneOf('kind', ['stored', 'removed', 'cleared']);
  switch (kind) {
    case 'stored':
      return decodeStored(fields);
    case 'removed':
      return { kind, hashes: hashesOfBytes(fields.bytes('hashes'), 'removed event'), tier: fields.oneOf('tier', tiers) };
    case 'cleared':
      return { kind };
    default:
      return assertNever(kind, 'kv event');
  }
}

/** A run with its parent; throws for a parent that is not exactly one hash. */
export function decodeStored(fields: Fields): Extract<KvEvent, { kind: 'stored' }> {
  const parent = fields.bytesOrNull('parent');
  if (parent !== null && parent.length !== 8) fields.refuse('parent', 'single hash');
  return {
    kind: 'stored',
    parent: parent === null ? null : hashesOfBytes(parent, 'stored event'),
    hashes: hashesOfBytes(fields.bytes('hashes'), 'stored event'),
    tier: fields.oneOf('tier', tiers),
  };
}
