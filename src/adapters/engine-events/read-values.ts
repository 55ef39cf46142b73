import type { EngineHash } from '../../core/kv-stream/engine-event.ts';
import type { StorageTier } from '../../core/kv-stream/kv-event.ts';

/** An event that can't be read: `reason` is one of few fixed words, to count by. Never leaves this folder. */
export class UnreadableEvent extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

const maxHashBytes = 64;

/** An integer of any width and sign, or bytes; int64 and uint64 forms of one hash come out equal. */
export function readHash(value: unknown): EngineHash {
  if (typeof value === 'bigint') return BigInt.asUintN(64, value).toString();
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value >= 0 ? value.toString() : BigInt.asUintN(64, BigInt(value)).toString();
  if (value instanceof Uint8Array && value.length > 0 && value.length <= maxHashBytes) return `x${Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex')}`;
  throw new UnreadableEvent('bad-hash');
}

export function readHashes(value: unknown): EngineHash[] {
  if (!Array.isArray(value)) throw new UnreadableEvent('bad-hash-list');
  return value.map(readHash);
}

const tiers: Readonly<Record<string, StorageTier>> = {
  GPU: 'device', CPU: 'host', CPU_PINNED: 'host', CPU_TIER1: 'host', CPU_TIER2: 'host', DISK: 'disk', EXTERNAL: 'external',
};

/** Early releases name no tier: then it is the device. */
export function readTier(value: unknown): StorageTier {
  if (isAbsent(value)) return 'device';
  const tier = typeof value === 'string' ? tiers[value.toUpperCase()] : undefined;
  if (tier === undefined) throw new UnreadableEvent('unknown-medium');
  return tier;
}

export interface ReadTokens {
  readonly tokens: Int32Array;
  readonly bigram: boolean;
}

/** Token ids, or pairs of them (speculative decoding), laid out flat. */
export function readTokens(value: unknown): ReadTokens {
  if (!Array.isArray(value)) throw new UnreadableEvent('bad-token-list');
  const bigram = Array.isArray(value[0]);
  const tokens = new Int32Array(bigram ? 2 * value.length : value.length);
  value.forEach((item: unknown, index) => {
    if (!bigram) tokens[index] = readToken(item);
    else {
      if (!Array.isArray(item) || item.length !== 2) throw new UnreadableEvent('bad-token-pair');
      tokens[2 * index] = readToken(item[0]);
      tokens[2 * index + 1] = readToken(item[1]);
    }
  });
  return { tokens, bigram };
}

function readToken(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= -0x8000_0000 && value <= 0xffff_ffff) return value | 0;
  throw new UnreadableEvent('bad-token');
}

/** A whole number within limits; null where absent. */
export function readWhole(value: unknown, limits: { readonly min: number; readonly max: number; readonly reason: string }): number | null {
  if (isAbsent(value)) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= limits.min && value <= limits.max) return value;
  throw new UnreadableEvent(limits.reason);
}

const maxNameLength = 4_096;

/** Text; absent and empty are both null, as the engines have it for salts. */
export function readName(value: unknown, reason: string): string | null {
  if (isAbsent(value) || value === '') return null;
  if (typeof value === 'string' && value.length <= maxNameLength) return value;
  throw new UnreadableEvent(reason);
}

export const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;
