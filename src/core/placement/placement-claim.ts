import type { RouterId } from '../identity/ids.ts';
import { parseDpRank, parseRouterId, parseWorkerId, requestId } from '../identity/ids.ts';
import { hashCount } from '../identity/sequence-hash.ts';
import type { Claim } from '../load/claim.ts';
import type { PlacementRequest } from './placement.ts';
import type { PlacedEvent } from './placement-event.ts';
import type { PlacedPlacement } from './placement-record.ts';

/** What a placement claims of its rank: all of the prompt that the overlap does not cover; unknown tokens claim none. */
export function claimOf(owner: RouterId, request: PlacementRequest, placement: PlacedPlacement, blockSize: number): Claim {
  const promptTokens = request.promptTokens ?? 0;
  return {
    requestId: request.id,
    owner,
    id: placement.id,
    prefillTokens: Math.max(0, promptTokens - placement.overlapBlocks * blockSize),
    promptTokens,
    hashes: request.hashes,
    blocks: hashCount(request.hashes),
  };
}

/** What another router's placement claims. Its hashes stay with it, so its blocks are taken to be its own alone. */
export function claimOfEvent(event: PlacedEvent): Claim {
  return {
    requestId: requestId(event.requestId),
    owner: parseRouterId(event.router),
    id: { worker: parseWorkerId(event.worker), rank: parseDpRank(event.rank) },
    prefillTokens: event.claim.prefillTokens,
    promptTokens: event.promptTokens ?? 0,
    hashes: null,
    blocks: event.claim.blocks,
  };
}
