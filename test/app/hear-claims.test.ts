import { describe, expect, it } from 'vitest';
import { hearClaims, longestClaimMs } from '../../src/app/hear-claims.ts';
import { parseRouterId } from '../../src/core/identity/ids.ts';
import { noHashes } from '../../src/core/identity/sequence-hash.ts';
import { ClaimLedger } from '../../src/core/load/claim-ledger.ts';
import type { PlacementEvent } from '../../src/core/placement/placement-event.ts';
import { silentLog } from '../support/silent-log.ts';
import { CountingMetrics, FixedClock, rank } from './route/route-fakes.ts';

class Hearing {
  readonly ledger = new ClaimLedger();
  readonly metrics = new CountingMetrics();
  readonly clock = new FixedClock();
  hear: (event: PlacementEvent) => void = () => {};

  static async start(): Promise<Hearing> {
    const hearing = new Hearing();
    const placements = {
      follow: (_options: object, onEvent: (event: PlacementEvent, sequence: number) => void) => {
        hearing.hear = (event) => onEvent(event, 1);
        return Promise.resolve({ close: () => Promise.resolve() });
      },
    };
    await hearClaims({ router: parseRouterId('r1'), ledger: hearing.ledger, placements, metrics: hearing.metrics, clock: hearing.clock, log: silentLog });
    return hearing;
  }

  tell(event: PlacementEvent['event'], requestId: string, more: object = {}): void {
    this.hear({ v: 1, event, router: 'r2', pool: 'p', requestId, worker: 'w1', rank: 0, promptTokens: 100, claim: { prefillTokens: 60, blocks: 3 }, ...more } as unknown as PlacementEvent);
  }

  load(): number[] {
    const { requests, prefillTokens, decodeTokens, activeBlocks } = this.ledger.loadOf(rank('w1'), noHashes);
    return [requests, prefillTokens, decodeTokens, activeBlocks];
  }
}

describe("other routers' claims", () => {
  it('L8: are booked as they are told, for workers that are not known here too', async () => {
    const hearing = await Hearing.start();
    hearing.tell('placed', 'a');
    expect(hearing.load()).toEqual([1, 60, 0, 3]);
    hearing.tell('first_token', 'a');
    expect(hearing.load()).toEqual([1, 0, 100, 3]);
    hearing.tell('finished', 'a');
    expect([hearing.load(), hearing.ledger.size]).toEqual([[0, 0, 0, 0], 0]);
  });

  it('end with a failure, and with the way to another rank', async () => {
    const hearing = await Hearing.start();
    for (const end of ['failed', 'rerouted'] as const) {
      hearing.tell('placed', 'a');
      hearing.tell(end, 'a');
      hearing.tell(end, 'a');
    }
    expect(hearing.ledger.size).toBe(0);
  });

  it("of our own are not taken twice, nor released by others' events", async () => {
    const hearing = await Hearing.start();
    hearing.ledger.take({ requestId: 'mine' as never, owner: parseRouterId('r1'), id: rank('w1'), prefillTokens: 5, promptTokens: 5, hashes: noHashes, blocks: 0 });
    hearing.tell('placed', 'mine', { router: 'r1' });
    hearing.tell('finished', 'mine', { router: 'r2' });
    expect(hearing.load()).toEqual([1, 5, 0, 0]);
  });

  it('of a router that vanished go when no request can still run', async () => {
    const hearing = await Hearing.start();
    hearing.tell('placed', 'old');
    hearing.clock.now = longestClaimMs / 2;
    hearing.tell('placed', 'young');
    hearing.clock.now = longestClaimMs;
    hearing.clock.fire();
    expect([hearing.ledger.size, hearing.metrics.counts]).toEqual([1, ['lost expired']]);
  });

  it('that can not be read are counted and left', async () => {
    const hearing = await Hearing.start();
    hearing.tell('placed', 'a', { worker: 'no subject token!' });
    expect([hearing.ledger.size, hearing.metrics.counts]).toEqual([0, ['lost unreadable']]);
  });
});
