import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { PlacementMode, PlacementReason } from '../../core/placement/placement.ts';
import type { RouterMetrics } from '../../ports/router-metrics.ts';
import type { RouterView } from '../../ports/router-view.ts';

const secondBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const blockBuckets = [0, 1, 4, 16, 64, 256, 1_024, 4_096];

/** Counts in Prometheus' own types; what is a state is read off the router at each scrape. */
export class PrometheusMetrics implements RouterMetrics {
  readonly #registry = new Registry();
  readonly #placements = this.#counter('placements_total', 'Placements by mode and reason', ['mode', 'reason']);
  readonly #requests = this.#counter('requests_total', "Finished requests by the engine's status", ['status']);
  readonly #failures = this.#counter('request_failures_total', 'Failed and cancelled requests by code', ['code']);
  readonly #reroutes = this.#counter('reroutes_total', 'Attempts that went on elsewhere, by code', ['code']);
  readonly #rejections = this.#counter('rejections_total', 'Requests that could not be placed, by code', ['code']);
  readonly #promptTokens = this.#counter('prompt_tokens_total', 'Prompt tokens, as the engines counted them');
  readonly #cachedTokens = this.#counter('cached_tokens_total', 'Prompt tokens that the engines had cached');
  readonly #tokensUnknown = this.#counter('tokens_unknown_total', 'Prompts whose tokens could not be known, by why', ['why']);
  readonly #tokensDiffer = this.#counter('prompt_tokens_differ_total', 'Prompts that the engine counted otherwise than the router');
  readonly #foreignClaimsLost = this.#counter('foreign_claims_lost_total', "Other routers' claims that expired or could not be read", ['why']);
  readonly #ttft = this.#histogram('ttft_seconds', 'From arrival to the first piece of a stream', secondBuckets);
  readonly #duration = this.#histogram('request_duration_seconds', 'From arrival to the end', secondBuckets);
  readonly #overlap = this.#histogram('overlap_blocks', 'Leading blocks expected to be cached, at placement', blockBuckets);

  placed(mode: PlacementMode, reason: PlacementReason, overlapBlocks: number): void {
    this.#placements.inc({ mode, reason });
    this.#overlap.observe(overlapBlocks);
  }

  finished({ status, ttftMs, durationMs, promptTokens, cachedTokens }: Parameters<RouterMetrics['finished']>[0]): void {
    this.#requests.inc({ status: String(status) });
    this.#duration.observe(durationMs / 1_000);
    if (ttftMs !== null) this.#ttft.observe(ttftMs / 1_000);
    this.#promptTokens.inc(promptTokens ?? 0);
    this.#cachedTokens.inc(cachedTokens ?? 0);
  }

  failed(code: string): void {
    this.#failures.inc({ code });
  }

  rerouted(code: string): void {
    this.#reroutes.inc({ code });
  }

  rejected(code: string): void {
    this.#rejections.inc({ code });
  }

  tokensUnknown(why: string): void {
    this.#tokensUnknown.inc({ why });
  }

  tokensDiffer(): void {
    this.#tokensDiffer.inc();
  }

  foreignClaimLost(why: 'expired' | 'unreadable'): void {
    this.#foreignClaimsLost.inc({ why });
  }

  /** The text of a scrape, and its content type. */
  async text(view: RouterView): Promise<{ readonly type: string; readonly body: string }> {
    const states = stateMetrics(view);
    const body = `${await this.#registry.metrics()}${await states.metrics()}`;
    return { type: this.#registry.contentType, body };
  }

  #counter<Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> {
    return new Counter({ name: `kinroute_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name: `kinroute_${name}`, help, buckets, registers: [this.#registry] });
  }
}

/** Gauges of this moment, in a registry of their own: a rank that is gone leaves no series behind. */
function stateMetrics(view: RouterView): Registry {
  const registry = new Registry();
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []): Gauge<Label> =>
    new Gauge({ name: `kinroute_${name}`, help, labelNames, registers: [registry] });
  const { claims, sessions, predictions } = view.gauges();
  gauge('ready', '1 when requests will be served').set(view.readiness().ready ? 1 : 0);
  gauge('claims', "Open claims, all routers' together").set(claims);
  gauge('sessions', 'Sessions that are bound or running').set(sessions);
  gauge('predictions', 'Placements whose blocks are still predicted').set(predictions);
  const trust = gauge('rank_trust', '1 for how far the blocks of a rank are known', ['pool', 'worker', 'rank', 'trust']);
  const held = gauge('rank_held_blocks', 'Blocks that a rank is known to hold', ['pool', 'worker', 'rank']);
  const claimed = gauge('rank_claimed_requests', 'Unfinished requests on a rank', ['pool', 'worker', 'rank']);
  for (const rank of view.ranks()) {
    const labels = { pool: rank.pool, worker: rank.id.worker, rank: String(rank.id.rank) };
    trust.set({ ...labels, trust: rank.trust }, 1);
    held.set(labels, rank.heldBlocks);
    claimed.set(labels, rank.claimed.requests);
  }
  const counted = gauge('counted', 'What was counted since the start: gaps, snapshots, dropped messages', ['what']);
  for (const [what, value] of Object.entries(view.counters())) counted.set({ what }, value);
  return registry;
}
