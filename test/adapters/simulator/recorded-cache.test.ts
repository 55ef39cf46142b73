import { existsSync, readFileSync } from 'node:fs';
import { decode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { encodeBatch } from '../../../src/adapters/simulator/encode-events.ts';
import { engineWire, type EngineWireName } from '../../../src/adapters/simulator/engine-wire.ts';
import { RadixCache, type CachePath } from '../../../src/core/engine-model/radix-cache.ts';
import type { CacheNamespace } from '../../../src/core/engine-model/cache-event.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';

interface RecordedOp {
  readonly op: string;
  readonly tokens?: readonly number[];
  readonly salt?: string;
  readonly extraKey?: string;
  readonly session?: string;
  readonly numTokens?: number;
  readonly cachedTokens?: number;
  readonly seq?: number;
}

interface Recording {
  readonly pageSize: number;
  readonly cachedTokensInAll: number;
  readonly ops: readonly RecordedOp[];
  readonly queries: readonly (RecordedOp & { readonly cachedTokens: number })[];
}

interface Frame {
  readonly payload: Buffer;
  readonly ts: number;
  readonly rank: number;
}

function framesOf(path: string): readonly Frame[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { socket: string; frames: string[] })
    .filter(({ socket }) => socket === 'pub')
    .map(({ frames }) => {
      const payload = Buffer.from(frames[2] ?? '', 'base64');
      const [ts, , rank] = decode(payload) as [number, unknown, number];
      return { payload, ts, rank };
    });
}

/** A real radix cache's ops on ours; `onPublish` gets what ours has to say where the real one said something. */
class Replay {
  readonly cache: RadixCache;
  readonly #wire: EngineWireName;
  readonly #pageSize: number;
  readonly #locks = new Map<string, CachePath>();

  constructor(wire: EngineWireName, pageSize: number) {
    this.#wire = wire;
    this.#pageSize = pageSize;
    this.cache = new RadixCache({ pageSize, capacityTokens: 1_000_000, hasher: engineWire[wire].hasher });
  }

  spanOf(op: RecordedOp): { tokens: Int32Array; length: number } {
    const tokens = Int32Array.from(op.tokens ?? []);
    return { tokens, length: tokens.length - (tokens.length % this.#pageSize) };
  }

  spaceOf = (op: RecordedOp): CacheNamespace => ({ salt: op.salt ?? null, extraKey: op.extraKey ?? null });

  run(op: RecordedOp): void {
    const key = JSON.stringify(op.tokens);
    if (op.op === 'insert') this.cache.insert(this.spaceOf(op), this.spanOf(op), op.session ?? null);
    else if (op.op === 'match') expect(this.cache.match(this.spaceOf(op), this.spanOf(op)).tokens).toBe(op.cachedTokens);
    else if (op.op === 'evict') this.cache.evict(op.numTokens ?? 0);
    else if (op.op === 'reset') this.cache.clear();
    else if (op.op === 'lock') {
      const path = this.cache.match(this.spaceOf(op), this.spanOf(op));
      this.cache.lock(path.node);
      this.#locks.set(key, path);
    } else if (op.op === 'unlock') {
      const path = this.#locks.get(key);
      if (path !== undefined) this.cache.unlock(path.node);
    } else expect(op.op).toBe('publish');
  }

  payload({ ts, rank }: Frame): Buffer {
    return encodeBatch({ events: this.cache.drainEvents(), rank, atSeconds: ts }, this.#pageSize, engineWire[this.#wire]);
  }
}

const versions = ['0.5.9', '0.5.19', '0.5.23'] as const;
const cases = versions.flatMap((version) => ['store', 'evict', 'clear'].flatMap((scenario) => [1, 16, 64].map((page) => ({ version, scenario, page }))));

describe.skipIf(!haveShared)('the simulated cache beside recordings of the real one (needs ../shared/fixtures)', () => {
  it.each(cases)('$scenario of $version with pages of $page: the same bytes in the same batches', ({ version, scenario, page }) => {
    const base = sharedPath('fixtures', 'sglang', version, 'events', `${scenario}-p${page}`);
    const recording = JSON.parse(readFileSync(`${base}.expected.json`, 'utf8')) as Recording;
    const frames = framesOf(`${base}.wire.jsonl`);
    const replay = new Replay(version, page);
    let compared = 0;
    for (const op of recording.ops) {
      replay.run(op);
      const frame = op.op === 'publish' && op.seq !== undefined ? frames[op.seq] : undefined;
      if (frame === undefined) continue;
      const payload = replay.payload(frame);
      if (!payload.equals(frame.payload)) expect(decode(payload, { useBigInt64: true })).toEqual(decode(frame.payload, { useBigInt64: true }));
      expect(payload.equals(frame.payload)).toBe(true);
      compared++;
    }
    expect(compared).toBe(frames.length);
    for (const query of recording.queries) expect(replay.cache.peek(replay.spaceOf(query), replay.spanOf(query))).toBe(query.cachedTokens);
    expect(replay.cache.usage.treeTokens).toBe(recording.cachedTokensInAll);
  });

  it.each(['0.5.19', '0.5.23'] as const)('salts, extra keys and sessions of %s: the same bytes, up to where an adapter is loaded', (version) => {
    const base = sharedPath('fixtures', 'sglang', version, 'events', 'salt-p16');
    expect(existsSync(`${base}.expected.json`)).toBe(true);
    const recording = JSON.parse(readFileSync(`${base}.expected.json`, 'utf8')) as Recording;
    const frames = framesOf(`${base}.wire.jsonl`);
    const replay = new Replay(version, 16);
    let compared = 0;
    for (const op of recording.ops) {
      if (op.extraKey?.length === 32) break;
      replay.run(op);
      const frame = op.op === 'publish' && op.seq !== undefined ? frames[op.seq] : undefined;
      if (frame === undefined) continue;
      expect(replay.payload(frame).toString('hex')).toBe(frame.payload.toString('hex'));
      compared++;
    }
    expect(compared).toBe(7);
  });

  it.each(versions)('page hashes of %s: its goldens, with salts where it has them', (version) => {
    const { goldens } = JSON.parse(readFileSync(sharedPath('fixtures', 'sglang', version, 'goldens.json'), 'utf8')) as {
      goldens: { name: string; tokens: number[]; pageSize: number; salt?: string; bigram?: boolean; loraId?: string; lora?: string; hashes: string[] }[];
    };
    const { hasher } = engineWire[version];
    const ours = goldens.filter((golden) => golden.bigram !== true && !golden.name.toLowerCase().includes('lora'));
    expect(ours.length).toBeGreaterThan(5);
    for (const { name, tokens, pageSize, salt, hashes } of ours) {
      const pages = Math.floor(tokens.length / pageSize);
      const digests = hasher.hashRun({ tokens: Int32Array.from(tokens), from: 0, pages, pageSize, parent: hasher.seed(salt ?? null) });
      const view = new DataView(digests.buffer);
      expect([name, Array.from({ length: pages }, (_, page) => view.getBigInt64(32 * page).toString())]).toEqual([name, hashes]);
    }
  });
});
