import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readRecording } from '../../../src/adapters/engine-events/recorded-events.ts';
import { EventInspection, type InspectionReport } from '../../../src/app/inspect-events.ts';
import type { EventQuery } from '../../../src/app/event-query.ts';
import { chainSeed } from '../../../src/core/identity/chain-seed.ts';
import { hashBlocks } from '../../../src/core/identity/hash-blocks.ts';
import { parsePoolId } from '../../../src/core/identity/ids.ts';
import { PageTree } from '../../../src/core/kv-stream/page-tree.ts';
import { parseEventQueries } from '../../../src/main/event-queries.ts';
import { HeldBlocks } from '../../support/held-blocks.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';

const copied = resolve(dirname(fileURLToPath(import.meta.url)), '../../fixtures/engine-events');
const pool = parsePoolId('p');
const followed = ['0.5.9', '0.5.19', '0.5.23'];
const read = (path: string): string => readFileSync(path, 'utf8');

function inspect(wire: string, queries: readonly EventQuery[], blockSize: number): InspectionReport {
  const inspection = new EventInspection({ blockSize, pageSize: null, kind: null }, queries);
  for (const message of readRecording(read(wire))) inspection.see(message);
  return inspection.report();
}

const pageSizeOf = (expected: string): number => {
  const value = JSON.parse(read(expected)) as { readonly pageSize?: number; readonly blockSize?: number };
  return value.pageSize ?? value.blockSize ?? 0;
};

interface Asking {
  readonly except?: (query: EventQuery) => boolean;
  /** Blocks of so many pages. */
  readonly factors?: readonly number[];
}

/** Every answerable query against the engine's own answer, with blocks of one page, of four and of half a page. */
function expectEngineAnswers(wire: string, expected: string, { except = (): boolean => false, factors = [1, 4, 0.5] }: Asking = {}): void {
  const queries = parseEventQueries(read(expected));
  for (const blockSize of factors.map((factor) => factor * pageSizeOf(expected)).filter(Number.isInteger)) {
    const report = inspect(wire, queries, blockSize);
    expect([report.invalid, report.gaps]).toEqual([0, 0]);
    const asked = report.queries.filter((answer, index) => answer.unanswerable === null && !except(queries[index] ?? fail()));
    expect(asked.map(({ tokens, blocks }) => [tokens, blocks])).toEqual(asked.map(({ tokens, engineBlocks }) => [tokens, engineBlocks]));
  }
}

// What a prefix is worth under a sliding window depends on where it ends: the recorded hits end after six pages, which
// blocks of four pages can't name.
const slidingFactors = [1, 2, 3, 0.5];

const fail = (): never => {
  throw new Error('an answer without its query');
};

describe('recorded events that are kept with the tests', () => {
  for (const version of followed) {
    it(`SGLang ${version}: evictions end with what the engine said it held`, () => {
      expectEngineAnswers(join(copied, `sglang-${version}-evict-p16.wire.jsonl`), join(copied, `sglang-${version}-evict-p16.expected.json`));
    });
  }

  it('E29: vLLM: a block that lives twice and is evicted once is still held', () => {
    expectEngineAnswers(join(copied, 'vllm-duplicate.jsonl'), join(copied, 'vllm-duplicate.expected.json'));
  });

  it('E35: vLLM with a sliding group: a hit needs both groups', () => {
    expectEngineAnswers(join(copied, 'vllm-hybrid.jsonl'), join(copied, 'vllm-hybrid.expected.json'), { factors: slidingFactors });
  });

  it('E35: what is published of a sliding group is never more than the engine reuses', () => {
    const tree = new PageTree({ kind: 'vllm', pool, blockSize: 32, pageSize: 32, bigram: false });
    const reader = new HeldBlocks();
    for (const { batch } of readRecording(read(join(copied, 'vllm-hybrid.jsonl')))) batch?.events.forEach((event) => reader.apply(tree.apply(event)));
    const queries = parseEventQueries(read(join(copied, 'vllm-hybrid.expected.json')));
    const overlaps = queries.map(({ tokens }) => reader.overlap(hashBlocks(tokens, 32, chainSeed(pool))));
    expect(overlaps).toEqual([0, 0, 2, 2, 0, 0]);
    expect(reader.faults).toEqual([]);
  });

  it.each(['0.4.7', '0.5.5.post3'])('E38: SGLang %s decodes whole, is credited nothing, and the reason is said', (version) => {
    const report = inspect(join(copied, `sglang-${version}-store-p16.wire.jsonl`), [], 16);
    expect([report.invalid, report.ranks.map(({ blocks }) => blocks)]).toEqual([0, [0]]);
    expect(report.ranks[0]?.untrusted).toMatch(/0\.5\.5 or older/);
  });
});

describe.skipIf(!haveShared)('all recordings beside the checkout (skipped where shared/fixtures is not there)', () => {
  const eventsOf = (version: string): readonly string[] => readdirSync(sharedPath('fixtures', 'sglang', version, 'events')).filter((file) => file.endsWith('.wire.jsonl'));
  const pathOf = (version: string, file: string): string => sharedPath('fixtures', 'sglang', version, 'events', file);

  for (const version of ['0.4.7', '0.5.5.post3', ...followed]) {
    it(`SGLang ${version}: every message is read whole`, () => {
      for (const file of eventsOf(version)) {
        const messages = readRecording(read(pathOf(version, file)));
        expect([file, messages.length > 0, messages.flatMap(({ batch, reason }): readonly string[] => (batch === null ? [reason ?? ''] : batch.invalid))]).toEqual([file, true, []]);
      }
    });
  }

  for (const version of followed) {
    // Not `twins`: there one hash names two copies, and no reader of the events can be right (see the next test).
    for (const file of eventsOf(version).filter((name) => !name.startsWith('twins'))) {
      it(`SGLang ${version} ${file}: every query that events can answer is answered as the engine did`, () => {
        expectEngineAnswers(pathOf(version, file), pathOf(version, file.replace('.wire.jsonl', '.expected.json')));
      });
    }

    it(`E34: SGLang ${version}, two copies under one hash: never more than the engine has for the prompt without a key`, () => {
      for (const file of eventsOf(version).filter((name) => name.startsWith('twins'))) {
        const expected = pathOf(version, file.replace('.wire.jsonl', '.expected.json'));
        const report = inspect(pathOf(version, file), parseEventQueries(read(expected)), pageSizeOf(expected));
        for (const { blocks, engineBlocks } of report.queries.filter(({ unanswerable }) => unanswerable === null)) expect(blocks).toBeLessThanOrEqual(engineBlocks ?? 0);
        expect(report.queries.filter(({ unanswerable }) => unanswerable !== null).map(({ blocks }) => blocks)).toEqual([0]);
      }
    });
  }

  it('E22: SGLang and vLLM: after a restart only what came since counts, as a second epoch', () => {
    expect(inspect(pathOf('0.5.23', 'restart-p16.wire.jsonl'), [], 16).epochs).toBe(2);
    expect(inspect(sharedPath('fixtures', 'vllm', 'restart.jsonl'), [], 32).epochs).toBe(2);
  });

  it('E4: rank 1 of the recorded pair is cleared, and rank 0 keeps its blocks', () => {
    const ranks = inspect(pathOf('0.5.23', 'dp-p16.wire.jsonl'), [], 16).ranks.map(({ rank }) => rank);
    expect(ranks).toEqual([0, 1]);
  });

  for (const server of ['0.5.9/server-page-1', '0.5.23/server-page-1', '0.5.23/server-plain', '0.5.23/server-two-ranks']) {
    it(`a real server, ${server}: the events foretell cached_tokens of every request but those with an extra key`, () => {
      const folder = sharedPath('fixtures', 'sglang', server);
      const { sglang, pageSize } = JSON.parse(read(join(folder, 'server.json'))) as { readonly sglang: string; readonly pageSize: number };
      const queries = parseEventQueries(read(join(folder, 'kv.requests.jsonl')), sglang);
      for (const blockSize of [pageSize, 4 * pageSize]) {
        const answers = inspect(join(folder, 'kv.wire.jsonl'), queries, blockSize).queries;
        const asked = answers.filter(({ unanswerable }) => unanswerable === null);
        expect(asked.length).toBeGreaterThan(20);
        expect(asked.map(({ reusableBlocks }) => reusableBlocks)).toEqual(asked.map(({ engineBlocks }) => engineBlocks));
      }
    });
  }

  const vllm = haveShared ? readdirSync(sharedPath('fixtures', 'vllm')).filter((file) => file.endsWith('.jsonl') && existsSync(sharedPath('fixtures', 'vllm', file.replace('.jsonl', '.expected.json')))) : [];
  // There the engine has less than its events say: a clear that waits for the next step (E30), and reuse reported as stores.
  const eventsAreWrong = ['clear-pending.jsonl', 'report-full.jsonl'];
  for (const file of vllm.filter((name) => !eventsAreWrong.includes(name))) {
    it(`vLLM ${file}: every query is answered as the engine did`, () => {
      const wire = sharedPath('fixtures', 'vllm', file);
      // Its expected file holds those of the other rank too, whose events are another file.
      expectEngineAnswers(wire, wire.replace('.jsonl', '.expected.json'), { except: ({ rank }) => rank === 1, ...(file === 'hybrid.jsonl' ? { factors: slidingFactors } : {}) });
    });
  }

  it('vLLM dp-rank1.jsonl: every query of rank 1 is answered as the engine did', () => {
    expectEngineAnswers(sharedPath('fixtures', 'vllm', 'dp-rank1.jsonl'), sharedPath('fixtures', 'vllm', 'dp-rank0.expected.json'), { except: ({ rank }) => rank !== 1 });
  });

  it('E30: vLLM: a clear that waits for the next step leaves the events saying more than the engine has', () => {
    const wire = sharedPath('fixtures', 'vllm', 'clear-pending.jsonl');
    const answers = inspect(wire, parseEventQueries(read(wire.replace('.jsonl', '.expected.json'))), 32).queries;
    expect(answers.map(({ blocks, engineBlocks }) => [blocks, engineBlocks])).toContainEqual([6, 0]);
  });

  it('E37: a real server begins with a lone clear and its warm-up, and that is no gap', () => {
    const report = inspect(sharedPath('fixtures', 'sglang', '0.5.23', 'server-two-ranks', 'kv.wire.jsonl'), [], 64);
    expect([report.gaps, report.invalid]).toEqual([0, 0]);
  });
});
