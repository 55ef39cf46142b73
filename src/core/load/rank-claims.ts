import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { BlockCounts } from './block-counts.ts';
import type { Claim, ClaimedLoad } from './claim.ts';

/** A claim and how far its request has come. */
export interface OpenClaim {
  readonly claim: Claim;
  decoding: boolean;
  answerTokens: number;
}

/** The sums over the open claims on one rank. */
export class RankClaims {
  readonly #blocks = new BlockCounts();
  #requests = 0;
  #prefillTokens = 0;
  #decodeTokens = 0;
  #unsharedBlocks = 0;

  get empty(): boolean {
    return this.#requests === 0;
  }

  add(claim: Claim): void {
    this.#requests += 1;
    this.#prefillTokens += claim.prefillTokens;
    if (claim.hashes === null) this.#unsharedBlocks += claim.blocks;
    else this.#blocks.addChain(claim.hashes);
  }

  firstToken({ claim, answerTokens }: OpenClaim): void {
    this.#prefillTokens -= claim.prefillTokens;
    this.#decodeTokens += claim.promptTokens + answerTokens;
  }

  addDecodeTokens(tokens: number): void {
    this.#decodeTokens += tokens;
  }

  remove({ claim, decoding, answerTokens }: OpenClaim): void {
    this.#requests -= 1;
    if (decoding) this.#decodeTokens -= claim.promptTokens + answerTokens;
    else this.#prefillTokens -= claim.prefillTokens;
    if (claim.hashes === null) this.#unsharedBlocks -= claim.blocks;
    else this.#blocks.removeChain(claim.hashes);
  }

  load(hashes: SequenceHashes): ClaimedLoad {
    return {
      requests: this.#requests,
      prefillTokens: this.#prefillTokens,
      decodeTokens: this.#decodeTokens,
      activeBlocks: this.#blocks.size + this.#unsharedBlocks,
      sharedActiveBlocks: this.#blocks.leadingHeld(hashes),
    };
  }
}
