import { readFileSync } from 'node:fs';
import { decode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { encodeBatch } from '../../../src/adapters/simulator/encode-events.ts';
import { engineWire } from '../../../src/adapters/simulator/engine-wire.ts';
import { EngineModel } from '../../../src/core/engine-model/engine-model.ts';
import type { CacheEvent } from '../../../src/core/engine-model/cache-event.ts';
import { rates8bOnH100 } from '../../../src/core/engine-model/step-timing.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';

interface RecordedRequest {
  readonly tokens: readonly number[];
  readonly outputIds: readonly number[];
  readonly cachedTokens: number;
  readonly cache_salt?: string;
  readonly extra_key?: string;
  readonly session_id?: string;
}

interface WireEvent {
  readonly type: string;
  readonly block_hashes?: readonly unknown[];
  readonly token_ids?: readonly number[];
  readonly parent_block_hash?: unknown;
}

const lines = <T>(path: string): T[] => readFileSync(path, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as T);

const eventsOf = (payload: Uint8Array): WireEvent[] => (decode(payload, { useBigInt64: true }) as [number, WireEvent[], number])[1];

/** The last replay from 0 holds all that the server ever sent. */
function recordedBatches(folder: string): WireEvent[][] {
  const frames = lines<{ socket: string; dir?: string; frames: string[] }>(`${folder}/kv.wire.jsonl`);
  const lastRequest = frames.findLastIndex(({ dir }) => dir === 'request');
  return frames.slice(lastRequest + 1).filter(({ frames: parts }) => parts[3] !== '').map(({ frames: parts }) => eventsOf(Buffer.from(parts[3] ?? '', 'base64')));
}

/** Answers differ between a real model and ours, so events are compared by kind, size and place, not by answer. */
const shapeOf = (batch: readonly WireEvent[]): unknown[] => batch.map(({ type, block_hashes }) => [type, block_hashes?.length ?? 0]);

describe.skipIf(!haveShared).each([
  { folder: 'server-plain', pageSize: 16 },
  { folder: 'server-page-1', pageSize: 1 },
])('the requests that a real server answered one after another, $folder (needs ../shared/fixtures)', ({ folder, pageSize }) => {
  const path = sharedPath('fixtures', 'sglang', '0.5.23', folder);

  it('reuse the same tokens, and tell the same stores and removals in the same batches', () => {
    const wire = engineWire['0.5.23'];
    const vocabulary = { wordBase: 262, vocabSize: 50_000, endToken: 257 };
    const model = new EngineModel({ pageSize, kvTokens: 2048, chunkTokens: 4096, maxRunning: 8, vocabulary, rates: rates8bOnH100, hasher: wire.hasher });
    const batches: WireEvent[][] = [];
    const tell = (events: readonly CacheEvent[]): void => {
      if (events.length > 0) batches.push(eventsOf(encodeBatch({ events, rank: 0, atSeconds: 1.5 }, pageSize, wire)));
    };
    const run = (tokens: readonly number[], maxNewTokens: number, more: Partial<RecordedRequest> = {}): number | null => {
      const space = { salt: more.cache_salt ?? null, extraKey: more.extra_key ?? null };
      model.submit({ id: 'one', tokens: Int32Array.from(tokens), maxNewTokens, ignoreEnd: true, stopTokens: new Set(), space, sessionId: more.session_id ?? null });
      for (;;) {
        if (model.startStep() === null) throw new Error('the request did not end');
        const { events, finished } = model.finishStep();
        tell(events);
        if (finished[0] !== undefined) return finished[0].cachedTokens;
      }
    };
    const recorded = recordedBatches(path);
    const warmUps = recorded.slice(1).findIndex((batch) => batch[0]?.parent_block_hash === null && (batch[0].token_ids?.length ?? 0) >= 96);
    tell(model.takeEvents());
    run(recorded.slice(1, 1 + warmUps).flatMap((batch) => batch.flatMap((event) => event.token_ids ?? [])), 1);
    const ourWarmUps = batches.length - 1;

    const requests = lines<RecordedRequest>(`${path}/kv.requests.jsonl`);
    const cached = requests.map((request) => run(request.tokens, request.outputIds.length, request));
    expect(cached).toEqual(requests.map(({ cachedTokens }) => cachedTokens));
    model.flush();
    tell(model.takeEvents());
    expect(batches.slice(1 + ourWarmUps).map(shapeOf)).toEqual(recorded.slice(1 + warmUps).map(shapeOf));
  });
});
