import type { RankId, RankKey, RequestId, RouterId, WorkerId } from '../identity/ids.ts';
import { rankKey } from '../identity/ids.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';
import type { Claim, ClaimedLoad } from './claim.ts';
import { nothingClaimed } from './claim.ts';
import type { OpenClaim } from './rank-claims.ts';
import { RankClaims } from './rank-claims.ts';

/**
 * What all routers have placed and not seen the end of. A rank needs not be known to be claimed on. A rank's sums go
 * with its last claim, so nothing is left when nothing runs.
 */
export class ClaimLedger {
  readonly #claims = new Map<RequestId, OpenClaim>();
  readonly #ranks = new Map<RankKey, RankClaims>();

  /** Open claims. */
  get size(): number {
    return this.#claims.size;
  }

  /** A request has one claim: one that it had before, on the rank that failed it, is released. */
  take(claim: Claim): void {
    this.release(claim.requestId);
    this.#claims.set(claim.requestId, { claim, decoding: false, answerTokens: 0 });
    const key = rankKey(claim.id);
    const rank = this.#ranks.get(key) ?? new RankClaims();
    this.#ranks.set(key, rank);
    rank.add(claim);
  }

  /** Its prompt is computed: from prefill to decode. Counts once; nothing for a request without a claim. */
  firstToken(requestId: RequestId): void {
    const open = this.#claims.get(requestId);
    if (open === undefined || open.decoding) return;
    open.decoding = true;
    this.#ranks.get(rankKey(open.claim.id))?.firstToken(open);
  }

  /** The answer has grown by so many tokens; they count from the first token on. */
  addDecodeTokens(requestId: RequestId, tokens: number): void {
    const open = this.#claims.get(requestId);
    if (open === undefined) return;
    open.answerTokens += tokens;
    if (open.decoding) this.#ranks.get(rankKey(open.claim.id))?.addDecodeTokens(tokens);
  }

  /** False where there is no such claim, or not any more. */
  release(requestId: RequestId): boolean {
    const open = this.#claims.get(requestId);
    if (open === undefined) return false;
    this.#claims.delete(requestId);
    const key = rankKey(open.claim.id);
    const rank = this.#ranks.get(key);
    rank?.remove(open);
    if (rank?.empty === true) this.#ranks.delete(key);
    return true;
  }

  /** A router is gone: so are its requests. Returns how many. */
  releaseOwner(owner: RouterId): number {
    return this.#releaseWhere((claim) => claim.owner === owner);
  }

  /** A worker is gone, with all its ranks. Returns how many claims were on it. */
  releaseWorker(worker: WorkerId): number {
    return this.#releaseWhere((claim) => claim.id.worker === worker);
  }

  /** What is claimed of a rank, and how much of a prompt with these hashes its unfinished requests have already. */
  loadOf(id: RankId, hashes: SequenceHashes): ClaimedLoad {
    return this.#ranks.get(rankKey(id))?.load(hashes) ?? nothingClaimed;
  }

  #releaseWhere(matches: (claim: Claim) => boolean): number {
    const gone = [...this.#claims.values()].filter((open) => matches(open.claim));
    for (const open of gone) this.release(open.claim.requestId);
    return gone.length;
  }
}
