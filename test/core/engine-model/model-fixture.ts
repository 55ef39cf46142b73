import { EngineModel, type EngineModelOptions } from '../../../src/core/engine-model/engine-model.ts';
import type { CacheEvent } from '../../../src/core/engine-model/cache-event.ts';
import type { FinishedRequest, ModelRequest, ProducedToken } from '../../../src/core/engine-model/engine-request.ts';
import { rates8bOnH100 } from '../../../src/core/engine-model/step-timing.ts';
import { cheapHasher } from './cheap-hasher.ts';

export const vocabulary = { wordBase: 262, vocabSize: 50_000, endToken: 257 };

export function modelOf(options: Partial<EngineModelOptions> = {}): EngineModel {
  const preset: EngineModelOptions = { pageSize: 16, kvTokens: 60_000, chunkTokens: 4096, maxRunning: 32, vocabulary, rates: rates8bOnH100, hasher: cheapHasher };
  return new EngineModel({ ...preset, ...options });
}

/** `count` token ids that only this `seed` gives. */
export const promptTokens = (seed: number, count: number): number[] => Array.from({ length: count }, (_, i) => (seed * 7919 + i * 31) % 49_000);

export function requestOf(id: string, tokens: readonly number[], options: Partial<ModelRequest> = {}): ModelRequest {
  const preset = { maxNewTokens: 4, ignoreEnd: true, stopTokens: new Set<number>(), space: { salt: null, extraKey: null }, sessionId: null };
  return { ...preset, ...options, id, tokens: Int32Array.from(tokens) };
}

export interface RunRecord {
  readonly produced: ProducedToken[];
  readonly finished: FinishedRequest[];
  readonly events: CacheEvent[];
  /** Virtual milliseconds until everything was over. */
  readonly durationMs: number;
}

/** Steps in virtual time until nothing is left. */
export function runToEnd(model: EngineModel, steps = 100_000): RunRecord {
  const record = { produced: [] as ProducedToken[], finished: [] as FinishedRequest[], events: [...model.takeEvents()], durationMs: 0 };
  for (let i = 0; i < steps; i++) {
    const step = model.startStep();
    if (step === null) return record;
    record.durationMs += step.durationMs;
    const outcome = model.finishStep();
    record.produced.push(...outcome.produced);
    record.finished.push(...outcome.finished);
    record.events.push(...outcome.events);
  }
  throw new Error(`the model did not end within ${steps} steps`);
}

/** Cached tokens of the finished requests, in order of their ids. */
export const cachedById = (record: RunRecord): ReadonlyMap<string, number | null> => new Map(record.finished.map(({ id, cachedTokens }) => [id, cachedTokens]));
