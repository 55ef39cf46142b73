import { RouterError } from '../core/router-error.ts';
import type { LivePolicy } from '../core/placement/placement.ts';
import type { Clock } from '../ports/clock.ts';
import type { ListedRank, RouterAdmin } from '../ports/load-client.ts';
import { pause } from './pause.ts';

const pollMs = 20;
const patienceMs = 30_000;

const isIdle = (rank: ListedRank): boolean => rank.requests === 0 && rank.prefillTokens === 0;

/** Resolves when the router holds no claim on any rank. Rejects after 30 s, naming the ranks that stay busy. */
export async function untilIdle(admin: RouterAdmin, clock: Clock, signal: AbortSignal): Promise<void> {
  const untilMs = clock.nowMs() + patienceMs;
  for (;;) {
    const busy = (await admin.ranks(signal)).filter((rank) => !isIdle(rank));
    if (busy.length === 0) return;
    if (clock.nowMs() > untilMs) {
      const names = busy.map((rank) => `${rank.worker}/${rank.rank} (${rank.requests} requests)`).join(', ');
      throw new RouterError('deadline-exceeded', `the pool is not idle after ${patienceMs / 1_000} s: ${names}`);
    }
    await pause(pollMs, clock, signal);
  }
}

/** Switches the live policy and resolves when this router goes by it. */
export async function switchPolicy(admin: RouterAdmin, policy: LivePolicy, clock: Clock, signal: AbortSignal): Promise<void> {
  await admin.setPolicy(policy, signal);
  const untilMs = clock.nowMs() + patienceMs;
  for (;;) {
    const now = await admin.policy(signal);
    if (now.mode === policy.mode && now.parentAffinity === policy.parentAffinity) return;
    if (clock.nowMs() > untilMs) throw new RouterError('deadline-exceeded', `the router still goes by mode ${now.mode}, ${policy.mode} was asked ${patienceMs / 1_000} s ago`);
    await pause(pollMs, clock, signal);
  }
}
