import { encode } from '@msgpack/msgpack';
import type { RankId } from '../../../core/identity/ids.ts';
import type { LoadSnapshot } from '../../../core/load/load-snapshot.ts';
import { msgpackFields } from './fields.ts';

/** A load snapshot without its rank, which the subject names. */
export function encodeLoad(load: LoadSnapshot): Uint8Array {
  const { id: _id, ...figures } = load;
  return encode({ v: 1, ...figures });
}

export function decodeLoad(data: Uint8Array, id: RankId): LoadSnapshot {
  const fields = msgpackFields(data, 'load report');
  fields.version(1);
  return {
    id,
    runningRequests: fields.wholeOrNull('runningRequests'),
    waitingRequests: fields.wholeOrNull('waitingRequests'),
    usedTokens: fields.wholeOrNull('usedTokens'),
    capacityTokens: fields.wholeOrNull('capacityTokens'),
    maxRunningRequests: fields.wholeOrNull('maxRunningRequests'),
    waitingUncachedTokens: fields.wholeOrNull('waitingUncachedTokens'),
    heldBlocks: fields.whole('heldBlocks'),
  };
}
