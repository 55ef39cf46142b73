import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readReplayed } from '../../src/adapters/engine-events/event-frames.ts';
import { readRecording } from '../../src/adapters/engine-events/recorded-events.ts';
import { chainSeed } from '../../src/core/identity/chain-seed.ts';
import { hashBlocks } from '../../src/core/identity/hash-blocks.ts';
import type { DpRank, RankId } from '../../src/core/identity/ids.ts';
import { parseDpRank, rankKey } from '../../src/core/identity/ids.ts';
import type { EngineBatch } from '../../src/core/kv-stream/engine-event.ts';
import { RadixIndex } from '../../src/core/prefix-index/radix-index.ts';
import { pool, worker } from '../support/nats-requests.ts';
import { haveShared, sharedPath } from '../support/shared-data.ts';
import { AgentStage, description, rankEndpoints } from './agent-fakes.ts';

interface RecordedRequest {
  readonly tokens: readonly number[];
  readonly cachedTokens: number;
  readonly eventsSoFar: number;
  readonly routed_dp_rank?: number;
  readonly cache_salt?: string;
  readonly extra_key?: string;
}

const textOf = (server: string, file: string): string => readFileSync(sharedPath('fixtures', 'sglang', ...server.split('/'), file), 'utf8');
const rowsOf = <T>(text: string): T[] => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as T]));

/** What each rank's replay socket held when the recording began: the batches before the first live one. */
function keptOf(wire: string): Map<number, EngineBatch[]> {
  const kept = new Map<number, EngineBatch[]>();
  for (const row of rowsOf<{ readonly socket: string; readonly dir?: string; readonly frames: readonly string[] }>(wire)) {
    if (row.socket.startsWith('pub')) return kept;
    const reading = row.dir === 'reply' ? readReplayed(row.frames.map((frame) => Buffer.from(frame, 'base64'))) : null;
    if (reading?.kind !== 'batch') continue;
    const rank = reading.batch.rank ?? 0;
    kept.set(rank, [...(kept.get(rank) ?? []), reading.batch]);
  }
  return kept;
}

describe.skipIf(!haveShared)('an agent fed with what real servers published (needs ../shared)', () => {
  it.each([
    ['0.5.23/server-plain', 16, 1, 28],
    ['0.5.23/server-two-ranks', 64, 2, 56],
    ['0.5.23/server-page-1', 1, 1, 29],
  ])('%s: its blocks foretell what the engine took from its cache', async (server, pageSize, ranks, requests) => {
    const stage = new AgentStage();
    const ids = Array.from({ length: ranks }, (_, rank): DpRank => parseDpRank(rank));
    stage.engine.described = description({ pageSize, ranks: ids, events: { ranks: ids.map(rankEndpoints), topic: '' } });
    const wire = textOf(server, 'kv.wire.jsonl');
    keptOf(wire).forEach((batches, rank) => stage.events.kept.set(rank, batches));
    const agent = stage.agent({ blockSize: pageSize });
    await agent.start();

    const heard = new RadixIndex();
    let applied = 0;
    let told = 0;
    const hear = (): void => stage.batches.slice(applied).forEach(({ id, batch }) => (applied++, batch.events.forEach((event) => heard.apply(id, event))));
    const live = readRecording(wire);
    let asked = 0;
    for (const request of rowsOf<RecordedRequest>(textOf(server, 'kv.requests.jsonl'))) {
      hear();
      const id: RankId = { worker, rank: parseDpRank(request.routed_dp_rank ?? 0) };
      if (request.extra_key === undefined) {
        const hashes = hashBlocks(request.tokens, pageSize, chainSeed(pool, { lora: null, salt: request.cache_salt ?? null }));
        const overlapTokens = (heard.overlaps(hashes).get(rankKey(id)) ?? 0) * pageSize;
        const most = Math.floor((request.tokens.length - 1) / pageSize) * pageSize;
        expect([asked, Math.min(overlapTokens, most)]).toEqual([asked, request.cachedTokens]);
        asked++;
      }
      for (; told < request.eventsSoFar; told++) {
        const message = live[told];
        if (message?.batch !== undefined && message.batch !== null) stage.events.listener?.batch(parseDpRank(message.rank), message.batch);
      }
    }
    hear();
    for (const rank of ids) {
      const snapshot = stage.control?.snapshot(rank);
      const rebuilt = new RadixIndex();
      snapshot?.runs.forEach((run) => rebuilt.apply({ worker, rank }, run));
      expect(snapshot?.partial).toBe(false);
      expect(rebuilt.blocksHeld({ worker, rank })).toBe(heard.blocksHeld({ worker, rank }));
      expect(stage.loads.some((load) => load.id.rank === rank)).toBe(true);
    }
    expect(asked).toBeGreaterThanOrEqual(requests - 4);
    await agent.close(AbortSignal.abort());
  });
});
