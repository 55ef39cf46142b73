import { hashCount, hashHex, type SequenceHashes } from '../../src/core/identity/sequence-hash.ts';
import type { KvEvent, StorageTier } from '../../src/core/kv-stream/kv-event.ts';

/** The plainest reader of block events: which hashes are held in which tier, and of stores whether their parent was. */
export class HeldBlocks {
  readonly held = new Set<string>();
  /** Stores whose parent was not held in any tier, or whose hash was held already, and removals of what was not. */
  readonly faults: string[] = [];

  apply(events: readonly KvEvent[]): void {
    for (const event of events) this.#applyOne(event);
  }

  /** Leading hashes that are held in the tier. */
  overlap(hashes: SequenceHashes, tier: StorageTier = 'device'): number {
    let blocks = 0;
    while (blocks < hashCount(hashes) && this.held.has(`${tier} ${hashHex(hashes, blocks)}`)) blocks++;
    return blocks;
  }

  #applyOne(event: KvEvent): void {
    if (event.kind === 'cleared') return this.held.clear();
    const names = Array.from({ length: hashCount(event.hashes) }, (_, index) => hashHex(event.hashes, index));
    if (event.kind === 'removed') {
      for (const name of names) if (!this.held.delete(`${event.tier} ${name}`)) this.faults.push(`removed ${name}`);
      return;
    }
    if (event.parent !== null && !this.#isHeld(hashHex(event.parent, 0))) this.faults.push(`stored under ${hashHex(event.parent, 0)}`);
    for (const name of names) {
      if (this.held.has(`${event.tier} ${name}`)) this.faults.push(`stored twice ${name}`);
      this.held.add(`${event.tier} ${name}`);
    }
  }

  #isHeld(name: string): boolean {
    return ['device', 'host', 'disk', 'external'].some((tier) => this.held.has(`${tier} ${name}`));
  }
}
