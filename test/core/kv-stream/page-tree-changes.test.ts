import { describe, expect, it } from 'vitest';
import { hashCount } from '../../../src/core/identity/sequence-hash.ts';
import { BlockChanges } from '../../../src/core/kv-stream/block-changes.ts';
import type { KvEvent } from '../../../src/core/kv-stream/kv-event.ts';

const hashes = Int32Array.of(1, 10, 2, 20, 3, 30);
const shape = (events: readonly KvEvent[]): unknown[] => events.map((event) => (event.kind === 'cleared' ? event.kind : `${event.kind} ${event.tier} ${hashCount(event.hashes)}`));

describe('BlockChanges', () => {
  it('makes one run of neighbours, and another where a chain parts', () => {
    const changes = new BlockChanges();
    changes.stored(0, hashes, 0, null);
    changes.stored(0, hashes, 2, 0);
    changes.stored(0, hashes, 4, 0);
    expect(shape(changes.take())).toEqual(['stored device 2', 'stored device 1']);
    expect(changes.take()).toEqual([]);
  });

  it('keeps a run for each tier open, so that blocks in two tiers do not part them', () => {
    const changes = new BlockChanges();
    for (const [at, before] of [[0, null], [2, 0], [4, 2]] as const) {
      changes.stored(0, hashes, at, before);
      changes.stored(1, hashes, at, before);
    }
    expect(shape(changes.take())).toEqual(['stored device 3', 'stored host 3']);
  });

  it('says a block that goes, comes and goes again in that order', () => {
    const changes = new BlockChanges();
    changes.removed(0, hashes, 0);
    changes.removed(0, hashes, 2);
    changes.stored(0, hashes, 0, null);
    changes.removed(0, hashes, 0);
    expect(shape(changes.take())).toEqual(['removed device 2', 'stored device 1', 'removed device 1']);
  });
});
