import { assertNever } from '../core/assert-never.ts';
import { chainSeed } from '../core/identity/chain-seed.ts';
import { hashBlocks } from '../core/identity/hash-blocks.ts';
import { parsePoolId } from '../core/identity/ids.ts';
import { hashCount } from '../core/identity/sequence-hash.ts';
import { hashBigramBlocks } from '../core/kv-stream/bigram-chain.ts';
import { EngineCursor } from '../core/kv-stream/engine-cursor.ts';
import type { EngineBatch, EngineEvent } from '../core/kv-stream/engine-event.ts';
import type { KvEvent } from '../core/kv-stream/kv-event.ts';
import { PageTree } from '../core/kv-stream/page-tree.ts';
import type { EventQuery } from './event-query.ts';

export interface RankInspectionOptions {
  readonly blockSize: number;
  /** Null: as the first store says. */
  readonly pageSize: number | null;
  /** Null: vLLM where stores name a KV group, else SGLang. */
  readonly kind: 'sglang' | 'vllm' | null;
}

/** What one batch did. */
export interface BatchOutcome {
  readonly seq: number;
  readonly verdict: 'applied' | 'after-gap' | 'restart' | 'duplicate';
  /** In engine pages. */
  readonly storedPages: number;
  readonly removedPages: number;
  readonly clears: number;
  /** In blocks of the pool. */
  readonly gainedBlocks: number;
  readonly lostBlocks: number;
  readonly heldBlocks: number;
}

const untrustedOld = 'its stores name no tier, so this is SGLang 0.5.5 or older, whose hashes do not say where a page belongs: nothing is credited from them (a vLLM of early 2025 looks alike: --engine-kind vllm)';

const pool = parsePoolId('inspected');
type StoredEvent = Extract<EngineEvent, { kind: 'stored' }>;

/** One rank's events, followed as an agent follows them when no replay answers. */
export class RankInspection {
  readonly #options: RankInspectionOptions;
  readonly #cursor = new EngineCursor();
  #tree: PageTree | null = null;
  #bigram = false;
  #untrusted = false;
  /** Pages removed before any was seen stored, when there is no tree yet to count them. */
  #removedBefore = 0;
  epochs = 0;
  gaps = 0;
  missingBatches = 0;

  constructor(options: RankInspectionOptions) {
    this.#options = options;
  }

  get heldBlocks(): number {
    return this.#tree?.held() ?? 0;
  }

  get counters(): PageTree['counters'] {
    const counted = this.#tree?.counters ?? { unknownRemovals: 0, orphanedStores: 0, refused: 0, overflowed: 0 };
    return { ...counted, unknownRemovals: counted.unknownRemovals + this.#removedBefore };
  }

  /** Why nothing is credited, whatever the events say; null where there is no such reason. */
  get whyUntrusted(): string | null {
    return this.#untrusted ? untrustedOld : null;
  }

  apply(batch: EngineBatch): BatchOutcome {
    const verdict = this.#judge(batch.seq);
    if (batch.withoutTiers === true && this.#options.kind !== 'vllm') this.#untrusted = true;
    const events = verdict === 'duplicate' ? [] : batch.events;
    const changes = this.#untrusted ? [] : events.flatMap((event) => this.#applyEvent(event));
    return { seq: batch.seq, verdict, ...pagesOf(events), ...blocksOf(changes), heldBlocks: this.heldBlocks };
  }

  /** Leading whole blocks that the engine holds on its device. */
  answer(query: EventQuery): number {
    if (this.#tree === null || this.#untrusted) return 0;
    const tokens = Int32Array.from(query.tokens);
    const seed = chainSeed(pool, query.isolation);
    const hash = this.#bigram ? hashBigramBlocks : hashBlocks;
    return this.#tree.hit(hash(tokens, this.#options.blockSize, seed));
  }

  /** Tokens of a page; null before the first store. */
  get pageSize(): number | null {
    return this.#tree?.pageSize ?? this.#options.pageSize;
  }

  #judge(seq: number): BatchOutcome['verdict'] {
    const verdict = this.#cursor.see(seq, 'live');
    switch (verdict.kind) {
      case 'next':
        return 'applied';
      case 'duplicate':
        return 'duplicate';
      case 'first':
        this.#beginEpoch(seq, verdict.missing);
        return 'applied';
      case 'gap':
        this.gaps++;
        this.#beginEpoch(seq, verdict.missing);
        return 'after-gap';
      case 'restart':
        this.#beginEpoch(seq, verdict.missing);
        return 'restart';
      default:
        return assertNever(verdict, 'sequence verdict');
    }
  }

  /** Nothing of before counts: history was lost, or the engine began anew. */
  #beginEpoch(seq: number, missing: number): void {
    this.epochs++;
    this.missingBatches += missing;
    this.#tree?.apply({ kind: 'cleared' });
    this.#cursor.resumeAt(seq + 1);
  }

  #applyEvent(event: EngineEvent): readonly KvEvent[] {
    if (this.#tree === null && event.kind === 'stored') this.#tree = this.#treeFor(event);
    if (this.#tree !== null) return this.#tree.apply(event);
    if (event.kind === 'removed') this.#removedBefore += event.hashes.length;
    return [];
  }

  #treeFor(event: StoredEvent): PageTree {
    this.#bigram = event.bigram;
    return new PageTree({
      kind: this.#options.kind ?? (event.group === null ? 'sglang' : 'vllm'),
      pool,
      blockSize: this.#options.blockSize,
      pageSize: this.#options.pageSize ?? event.pageSize,
      bigram: event.bigram,
    });
  }
}

function pagesOf(events: readonly EngineEvent[]): Pick<BatchOutcome, 'storedPages' | 'removedPages' | 'clears'> {
  let storedPages = 0;
  let removedPages = 0;
  let clears = 0;
  for (const event of events) {
    if (event.kind === 'stored') storedPages += event.hashes.length;
    else if (event.kind === 'removed') removedPages += event.hashes.length;
    else clears++;
  }
  return { storedPages, removedPages, clears };
}

function blocksOf(changes: readonly KvEvent[]): Pick<BatchOutcome, 'gainedBlocks' | 'lostBlocks'> {
  let gainedBlocks = 0;
  let lostBlocks = 0;
  for (const change of changes) {
    if (change.kind === 'stored') gainedBlocks += hashCount(change.hashes);
    else if (change.kind === 'removed') lostBlocks += hashCount(change.hashes);
  }
  return { gainedBlocks, lostBlocks };
}
