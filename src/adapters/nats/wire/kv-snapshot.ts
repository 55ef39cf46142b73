import { encode } from '@msgpack/msgpack';
import { epoch, type RankId } from '../../../core/identity/ids.ts';
import type { KvSnapshot } from '../../../core/kv-stream/kv-event.ts';
import { Fields, msgpackFields } from './fields.ts';
import { decodeStored, encodeKvEvent } from './kv-batch.ts';

/** `{v, epoch, seq, partial, runs}`; who it is of is known from the question. */
export function encodeKvSnapshot(snapshot: KvSnapshot): Uint8Array {
  return encode({ v: 1, epoch: snapshot.epoch, seq: snapshot.seq, partial: snapshot.partial, runs: snapshot.runs.map(encodeKvEvent) });
}

export function decodeKvSnapshot(data: Uint8Array, id: RankId): KvSnapshot {
  const fields = msgpackFields(data, 'kv snapshot');
  fields.version(1);
  return {
    id,
    epoch: epoch(fields.text('epoch')),
    // -1: before the first batch.
    seq: fields.whole('seq', -1),
    partial: fields.flag('partial'),
    runs: fields.list('runs').map((run) => decodeStored(new Fields(run, 'snapshot run'))),
  };
}
