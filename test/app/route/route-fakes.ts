import { RankCooldown } from '../../../src/app/route/rank-cooldown.ts';
import type { FollowedRank, PoolState } from '../../../src/app/follow-pool.ts';
import type { FollowedPools } from '../../../src/app/route/followed-pools.ts';
import { RouteRequest } from '../../../src/app/route-request.ts';
import type { RouteDeps } from '../../../src/app/route-request.ts';
import { chainSeed, noIsolation } from '../../../src/core/identity/chain-seed.ts';
import { epoch, parseDpRank, parsePoolId, parseRouterId, parseWorkerId, rankKey, requestId, tenantId } from '../../../src/core/identity/ids.ts';
import type { PoolId, RankId, RankKey } from '../../../src/core/identity/ids.ts';
import type { WorkerRegistration } from '../../../src/core/identity/registration.ts';
import type { SequenceHashes } from '../../../src/core/identity/sequence-hash.ts';
import { ClaimLedger } from '../../../src/core/load/claim-ledger.ts';
import type { LivePolicy } from '../../../src/core/placement/placement.ts';
import type { PlacementEvent } from '../../../src/core/placement/placement-event.ts';
import { PredictedIndex } from '../../../src/core/prefix-index/predicted-index.ts';
import { RadixIndex } from '../../../src/core/prefix-index/radix-index.ts';
import { RouterError } from '../../../src/core/router-error.ts';
import { SessionTable } from '../../../src/core/sessions/session-table.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { ClientRequest, PlacedHead, RoutedAnswer } from '../../../src/ports/request-router.ts';
import type { EngineRequest, EngineResponse, RequestTransport } from '../../../src/ports/request-transport.ts';
import type { RouterMetrics } from '../../../src/ports/router-metrics.ts';
import { silentLog } from '../../support/silent-log.ts';

export const pool = parsePoolId('llama');
export const rank = (worker: string, dpRank = 0): RankId => ({ worker: parseWorkerId(worker), rank: parseDpRank(dpRank) });

/** Time that stands still until it is moved. */
export class FixedClock implements Clock {
  now = 0;
  readonly #timers = new Set<() => void>();

  nowMs(): number {
    return this.now;
  }

  isoNow(): string {
    return new Date(this.now).toISOString();
  }

  after(_delayMs: number, run: () => void): () => void {
    this.#timers.add(run);
    return () => this.#timers.delete(run);
  }

  every(periodMs: number, run: () => void): () => void {
    return this.after(periodMs, run);
  }

  /** Runs every timer that waits, once. */
  fire(): void {
    for (const run of [...this.#timers]) run();
  }
}

export const registration = (worker: string, more: Partial<WorkerRegistration> = {}): WorkerRegistration => ({
  v: 1,
  pool,
  worker: parseWorkerId(worker),
  life: epoch('life'),
  engineUrl: `http://${worker}:30000`,
  engineKind: 'sglang',
  engineVersion: '0.5.23',
  tokenizerPath: null,
  unnamedInEvents: [],
  models: ['llama-8b'],
  ranks: [parseDpRank(0)],
  blockSize: 4,
  pageSize: 1,
  contextLength: 4_096,
  vocabSize: 1_000,
  maxRunningRequests: null,
  capacityTokens: null,
  events: { kind: 'zmq' },
  draining: false,
  ...more,
});

/** A pool whose workers and blocks the test sets. */
export class FakePools implements FollowedPools {
  readonly index = new RadixIndex();
  readonly registrations: WorkerRegistration[];

  constructor(registrations: readonly WorkerRegistration[]) {
    this.registrations = [...registrations];
  }

  pools(): readonly PoolState[] {
    const [first] = this.registrations;
    if (first === undefined) return [];
    const { models, blockSize, contextLength, vocabSize } = first;
    return [{ pool, models, blockSize, contextLength, vocabSize, seedOf: (isolation) => chainSeed(pool, isolation) }];
  }

  poolOfModel(model: string | null): PoolState | null {
    return this.pools().find(({ models }) => model === null || models.includes(model)) ?? null;
  }

  ranks(_pool: PoolId): readonly FollowedRank[] {
    return this.registrations.flatMap((each) =>
      each.ranks.map((dpRank) => ({ id: { worker: each.worker, rank: dpRank }, registration: each, draining: each.draining, trust: 'trusted' as const, load: null, loadAgeMs: null, heldBlocks: 0 })),
    );
  }

  eventOverlaps(_pool: PoolId, hashes: SequenceHashes): ReadonlyMap<RankKey, number> {
    return this.index.overlaps(hashes);
  }

  remove(worker: string): void {
    const at = this.registrations.findIndex((each) => each.worker === worker);
    if (at >= 0) this.registrations.splice(at, 1);
  }
}

/** What a rank does with a request. */
export type Engine = (request: EngineRequest, signal: AbortSignal) => Promise<EngineResponse>;

/** A bus with an engine behind each rank; a rank without one has no responder. */
export class FakeTransport implements RequestTransport {
  readonly engines = new Map<RankKey, Engine>();
  readonly sent: { readonly id: RankId; readonly request: EngineRequest }[] = [];

  send(_pool: PoolId, target: RankId, request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    this.sent.push({ id: target, request });
    const engine = this.engines.get(rankKey(target));
    return engine === undefined ? Promise.reject(new RouterError('no-responder', `worker ${target.worker} does not listen`)) : engine(request, signal);
  }

  bodies(): string[] {
    return this.sent.map(({ request }) => new TextDecoder().decode(request.body));
  }
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Pieces as given; an error among them is thrown there. */
export async function* pieces(...parts: readonly (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Error) throw part;
    yield bytes(part);
  }
}

export const json = { 'content-type': 'application/json' } as const;
export const eventStream = { 'content-type': 'text/event-stream; charset=utf-8' } as const;

export const response = (status: number, headers: Readonly<Record<string, string>>, body: AsyncIterable<Uint8Array>): EngineResponse => ({ status, headers: Object.entries(headers), body });

export const answering =
  (text: string, status = 200): Engine =>
  () =>
    Promise.resolve(response(status, json, pieces(text)));

export const streaming =
  (...parts: readonly (string | Error)[]): Engine =>
  () =>
    Promise.resolve(response(200, eventStream, pieces(...parts)));

export const failing =
  (code: RouterError['code']): Engine =>
  () =>
    Promise.reject(new RouterError(code, `it failed with ${code}`));

/** Begins an answer, a stream unless `headers` say otherwise, and then says nothing until it is cancelled; `cancelled` resolves when it is. */
export function silentEngine(first: string | null, headers: Readonly<Record<string, string>> = eventStream): { readonly engine: Engine; readonly cancelled: Promise<void> } {
  let tell: () => void = () => {};
  const cancelled = new Promise<void>((resolve) => (tell = resolve));
  const until = (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => {
      const stop = (): void => {
        tell();
        reject(new RouterError('cancelled', 'cancelled'));
      };
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  async function* body(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    if (first !== null) yield bytes(first);
    await until(signal);
  }
  return { engine: (_request, signal) => Promise.resolve(response(200, headers, body(signal))), cancelled };
}

export class CountingMetrics implements RouterMetrics {
  readonly counts: string[] = [];
  placed(): void {}
  finished(): void {}
  failed(code: string): void {
    this.counts.push(`failed ${code}`);
  }
  rerouted(code: string): void {
    this.counts.push(`rerouted ${code}`);
  }
  rejected(code: string): void {
    this.counts.push(`rejected ${code}`);
  }
  tokensUnknown(why: string): void {
    this.counts.push(`unknown ${why}`);
  }
  tokensDiffer(): void {
    this.counts.push('differ');
  }
  foreignClaimLost(why: string): void {
    this.counts.push(`lost ${why}`);
  }
}

/** A router around fakes: `ask` sends a request as a client would. */
export class FakeRouter {
  readonly clock = new FixedClock();
  readonly transport = new FakeTransport();
  readonly events: PlacementEvent[] = [];
  readonly ledger = new ClaimLedger();
  readonly metrics = new CountingMetrics();
  readonly sessions = new SessionTable({ idleMs: 10_000, maxSessions: 100 });
  readonly predictions = new PredictedIndex({ ttlMs: 10_000, maxBlocks: 10_000 });
  readonly pools: FakePools;
  readonly placed: PlacedHead[] = [];
  policy: LivePolicy = { mode: 'event', parentAffinity: 'siblings' };
  readonly #router: RouteRequest;
  #asked = 0;

  constructor(registrations: readonly WorkerRegistration[], retries = 2) {
    this.pools = new FakePools(registrations);
    const deps: RouteDeps = {
      pools: this.pools,
      predictions: this.predictions,
      ledger: this.ledger,
      sessions: this.sessions,
      router: parseRouterId('r1'),
      placements: { publish: (event) => void this.events.push(event) },
      metrics: this.metrics,
      clock: this.clock,
      tokenizer: { tokensOf: ({ body }) => Promise.resolve(Array.isArray(body['input_ids']) ? { kind: 'known', tokens: body['input_ids'], isolation: noIsolation } : { kind: 'unknown', why: 'no-prompt' }), counted: () => undefined },
      transport: this.transport,
      cooldown: new RankCooldown(1_000),
      policy: () => this.policy,
      random: () => 0,
      log: silentLog,
    };
    this.#router = new RouteRequest(deps, { retries, deadlineMs: 60_000 });
  }

  engine(id: RankId, engine: Engine): this {
    this.transport.engines.set(rankKey(id), engine);
    return this;
  }

  ask(fields: Readonly<Record<string, unknown>>, headers: Readonly<Record<string, string>> = {}, more: { readonly signal?: AbortSignal; readonly tenant?: string; readonly path?: string } = {}): Promise<RoutedAnswer> {
    const client: ClientRequest = {
      id: requestId(`q${++this.#asked}`),
      method: 'POST',
      path: more.path ?? '/generate',
      headers: Object.entries(headers),
      body: bytes(JSON.stringify(fields)),
      fields,
      tenant: tenantId(more.tenant ?? 'anonymous'),
    };
    return this.#router.route(client, (placed) => void this.placed.push(placed), more.signal ?? new AbortController().signal);
  }

  /** The whole answer as text. */
  async answer(...asked: Parameters<FakeRouter['ask']>): Promise<string> {
    return textOf((await this.ask(...asked)).body);
  }

  eventNames(): string[] {
    return this.events.map(({ event }) => event);
  }

  workers(): string[] {
    return this.placed.map(({ id }) => id.worker);
  }
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of body) text += decoder.decode(piece, { stream: true });
  return text;
}
