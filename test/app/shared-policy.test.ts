import { expect, it } from 'vitest';
import { SharedPolicy } from '../../src/app/shared-policy.ts';
import { parseRouterId } from '../../src/core/identity/ids.ts';
import type { LivePolicy } from '../../src/core/placement/placement.ts';
import type { PlacementEvent } from '../../src/core/placement/placement-event.ts';
import { silentLog } from '../support/silent-log.ts';
import { FixedClock } from './route/route-fakes.ts';

const flags: LivePolicy = { mode: 'event', parentAffinity: 'siblings' };
const affinity: LivePolicy = { mode: 'affinity', parentAffinity: 'siblings' };

/** One bucket that routers share; writes are heard by all, when `deliver` says so. */
class Bucket {
  policy: LivePolicy | null = null;
  readonly listeners: ((policy: LivePolicy) => void)[] = [];
  put(policy: LivePolicy): Promise<void> {
    this.policy = policy;
    return Promise.resolve();
  }
  get(): Promise<LivePolicy | null> {
    return Promise.resolve(this.policy);
  }
  follow(onPolicy: (policy: LivePolicy) => void): Promise<{ close(): Promise<void> }> {
    this.listeners.push(onPolicy);
    this.deliver();
    return Promise.resolve({ close: () => Promise.resolve() });
  }
  deliver(): void {
    for (const listener of this.listeners) if (this.policy !== null) listener(this.policy);
  }
}

async function router(config: Bucket): Promise<{ readonly policy: SharedPolicy; readonly events: PlacementEvent[]; readonly clock: FixedClock }> {
  const [events, clock] = [[] as PlacementEvent[], new FixedClock()];
  const policy = new SharedPolicy(flags, { router: parseRouterId('r1'), config, placements: { publish: (event) => void events.push(event) }, clock, log: silentLog });
  await policy.start();
  return { policy, events, clock };
}

it('the flags hold until a mode was set for all, then that one', async () => {
  const bucket = new Bucket();
  const { policy } = await router(bucket);
  expect(policy.current).toEqual(flags);
  await bucket.put(affinity);
  bucket.deliver();
  expect([policy.current, (await router(bucket)).policy.current]).toEqual([affinity, affinity]);
});

it('a change is told once, by each router for itself', async () => {
  const bucket = new Bucket();
  const { events } = await router(bucket);
  await bucket.put(affinity);
  bucket.deliver();
  bucket.deliver();
  expect(events).toMatchObject([{ event: 'mode_changed', router: 'r1', mode: 'affinity', parentAffinity: 'siblings' }]);
});

it('setting a mode resolves when this router has heard of it too', async () => {
  const bucket = new Bucket();
  const { policy } = await router(bucket);
  let resolved = false;
  const setting = policy.set(affinity).then(() => (resolved = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(resolved).toBe(false);
  bucket.deliver();
  await setting;
  expect(policy.current).toEqual(affinity);
});

it('a change that does not come back is not waited for without end', async () => {
  const { policy, clock } = await router(new Bucket());
  const setting = policy.set(affinity);
  await new Promise((resolve) => setImmediate(resolve));
  clock.fire();
  await setting;
  expect(policy.current).toEqual(flags);
});
