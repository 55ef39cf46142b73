import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBatch } from '../../../src/adapters/engine-events/decode-batch.ts';
import type { EngineBatch } from '../../../src/core/kv-stream/engine-event.ts';

const pack = (value: unknown): Uint8Array => encode(value, { useBigInt64: true });
const decodeEvents = (...events: readonly unknown[]): EngineBatch => decodeBatch(pack([1.5, events, 0]), 7);
const stored = { type: 'BlockStored', block_hashes: [1n], parent_block_hash: null, token_ids: [1, 2], block_size: 2, lora_id: null };
const tagged = (more: Readonly<Record<string, unknown>> = {}): unknown => ({ ...stored, ...more });

describe('decodeBatch', () => {
  it('E25: arrays of 2025, with and without trailing optional fields, and maps of 2026 mean the same', () => {
    const forms = [
      ['BlockStored', [1n, -2n], 9n, [1, 2, 3, 4], 2, null],
      ['BlockStored', [1n, -2n], 9n, [1, 2, 3, 4], 2, null, 'GPU'],
      ['BlockStored', [1n, -2n], 9n, [1, 2, 3, 4], 2, null, 'GPU', null],
      tagged({ block_hashes: [1n, -2n], parent_block_hash: 9n, token_ids: [1, 2, 3, 4], medium: 'GPU', tomorrow: [1, { a: 2 }] }),
    ];
    for (const form of forms) {
      const batch = decodeEvents(form);
      expect(batch.invalid).toEqual([]);
      expect(batch.events).toEqual([
        { kind: 'stored', hashes: ['1', '18446744073709551614'], parent: '9', tokens: Int32Array.of(1, 2, 3, 4), pageSize: 2, tier: 'device', lora: null, salt: null, group: null, bigram: false },
      ]);
    }
  });

  it('E25: the batch itself may be a map, and says its rank', () => {
    const batch = decodeBatch(pack({ ts: 1.5, events: [{ type: 'AllBlocksCleared' }, ['AllBlocksCleared']], attn_dp_rank: 3, more: 1 }), 7);
    expect(batch).toEqual({ seq: 7, rank: 3, events: [{ kind: 'cleared' }, { kind: 'cleared' }], invalid: [] });
  });

  it('E25: a kind that is not known is counted', () => {
    expect(decodeEvents(['BlockMoved', 1], { type: 'BlockMoved' }).invalid).toEqual(['unknown-kind', 'unknown-kind']);
  });

  it('E7: an event that cannot be read is counted by its reason, and the removal after it is read', () => {
    const batch = decodeEvents(tagged({ token_ids: 'abc' }), { type: 'BlockRemoved', block_hashes: [1n] });
    expect(batch.events).toEqual([{ kind: 'removed', hashes: ['1'], tier: 'device', group: null }]);
    expect(batch.invalid).toEqual(['bad-token-list']);
  });

  it('E24: hashes above 2^63, negative or of 32 bytes are kept apart, and int64 and uint64 forms are equal', () => {
    const bytes = Uint8Array.from({ length: 32 }, (_, index) => index);
    const other = bytes.slice();
    other[0] = 255;
    const values = [2n ** 63n + 1n, 2n ** 63n, -1n, 2n ** 53n, 2n ** 53n + 1n, 5, -5, bytes, other];
    const hashes = decodeEvents({ type: 'BlockRemoved', block_hashes: values }).events.flatMap((event) => (event.kind === 'removed' ? event.hashes : []));
    expect(new Set(hashes).size).toBe(values.length);
    const signed = decodeEvents({ type: 'BlockRemoved', block_hashes: [-1n, -5, -(2n ** 63n)] });
    const unsigned = decodeEvents({ type: 'BlockRemoved', block_hashes: [2n ** 64n - 1n, 2n ** 64n - 5n, 2n ** 63n] });
    expect(signed).toEqual(unsigned);
  });

  it('E33: SGLang names a salt in a map behind the array or as a field', () => {
    const array = ['BlockStored', [1n], null, [1, 2], 2, null, 'GPU', { cache_salt: 's', future: 1 }];
    const salts = decodeEvents(array, tagged({ cache_salt: 's' }), tagged({ cache_salt: '' })).events.map((event) => (event.kind === 'stored' ? event.salt : 'none'));
    expect(salts).toEqual(['s', 's', null]);
  });

  it('E33: vLLM names the adapter in each page and the salt in the first', () => {
    const batch = decodeEvents(tagged({ block_hashes: [1n, 2n], token_ids: [1, 2, 3, 4], lora_id: 2, lora_name: 'x', extra_keys: [['x', 's'], ['x']], group_idx: 0, kv_cache_spec_kind: 'full_attention' }));
    expect(batch.invalid).toEqual([]);
    expect(batch.events).toMatchObject([{ lora: 'x', salt: 's', group: { index: 0, kind: 'full_attention', slidingWindow: null } }]);
  });

  it('E16: a page with a key that is neither (an image) is left out with all after it, and counted', () => {
    const batch = decodeEvents(tagged({ block_hashes: [1n, 2n, 3n], token_ids: [1, 2, 3, 4, 5, 6], extra_keys: [null, [['image-hash', 4]], null] }));
    expect(batch.events).toMatchObject([{ hashes: ['1'], tokens: Int32Array.of(1, 2) }]);
    expect(batch.invalid).toEqual(['unknown-extra-key']);
  });

  it('an adapter known by number alone is kept apart from the base model', () => {
    expect(decodeEvents(tagged({ lora_id: 3 })).events).toMatchObject([{ lora: 'lora-id 3' }]);
  });

  it('pairs of tokens are laid out flat', () => {
    expect(decodeEvents(tagged({ token_ids: [[1, 2], [2, 3]] })).events).toMatchObject([{ bigram: true, tokens: Int32Array.of(1, 2, 2, 3) }]);
  });

  it('tiers keep their place, and one that is not known is not taken for the device', () => {
    const events = ['GPU', 'CPU_PINNED', 'CPU', 'DISK', 'EXTERNAL', 'TAPE'].map((medium) => ['BlockRemoved', [1n], medium]);
    const batch = decodeEvents(...events);
    expect(batch.events.map((event) => (event.kind === 'removed' ? event.tier : ''))).toEqual(['device', 'host', 'host', 'disk', 'external']);
    expect(batch.invalid).toEqual(['unknown-medium']);
  });

  it('stores of SGLang 0.5.5 and older are marked: they name no tier', () => {
    expect(decodeEvents(['BlockStored', [1n], null, [1, 2], 2, null]).withoutTiers).toBe(true);
    expect(decodeEvents(['BlockStored', [1n], null, [1, 2], 2, null, 'GPU'], tagged())).not.toHaveProperty('withoutTiers');
  });

  it.each([
    ['a hash that is text', tagged({ block_hashes: ['x'] }), 'bad-hash'],
    ['a hash with a fraction', tagged({ block_hashes: [1.5] }), 'bad-hash'],
    ['a hash of 65 bytes', tagged({ block_hashes: [new Uint8Array(65)] }), 'bad-hash'],
    ['hashes that are no list', tagged({ block_hashes: 7 }), 'bad-hash-list'],
    ['no hashes', tagged({ block_hashes: [], token_ids: [] }), 'no-hashes'],
    ['a token that is text', tagged({ token_ids: [1, 'x'] }), 'bad-token'],
    ['a token beyond 32 bits', tagged({ token_ids: [1, 2 ** 40] }), 'bad-token'],
    ['a pair of three', tagged({ token_ids: [[1, 2], [2, 3, 4]] }), 'bad-token-pair'],
    ['pages of no tokens', tagged({ block_size: 0 }), 'bad-page-size'],
    ['a page size that is text', tagged({ block_size: '16' }), 'bad-page-size'],
    ['a parent that is a list', tagged({ parent_block_hash: [1] }), 'bad-hash'],
    ['a salt that is a number', tagged({ cache_salt: 5 }), 'bad-salt'],
    ['a group that is text', tagged({ group_idx: 'a' }), 'bad-group'],
    ['an event that is a number', 7, 'not-an-event'],
    ['an array without a name', [7, 8], 'not-an-event'],
    ['an empty array', [], 'not-an-event'],
  ])('%s is counted and does not throw', (_, event, reason) => {
    const batch = decodeEvents(event, ['AllBlocksCleared']);
    expect([batch.invalid, batch.events.map(({ kind }) => kind)]).toEqual([[reason], ['cleared']]);
  });

  it.each([
    ['nothing', new Uint8Array()],
    ['text', pack('hello')],
    ['a batch whose events are no list', pack([1.5, 'events', 0])],
    ['bytes behind the value', Uint8Array.from([...pack([1.5, [], 0]), 0])],
    ['a list that claims four billion members', Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff)],
    ['long lists within lists', Uint8Array.from(Array.from({ length: 60_000 }, (_, at) => [0xdc, 0xff, 0xff][at % 3] ?? 0))],
    ['lists within lists within lists', Uint8Array.from(Array.from({ length: 50_000 }, (_, at) => (at === 49_999 ? 0xc0 : 0x91)))],
    ['text that claims four gigabytes', Uint8Array.of(0xdb, 0xff, 0xff, 0xff, 0xff, 0x61)],
    ['a map that would set a prototype', pack([1.5, [new Map([['a', 1]])], 0]).fill(0xc1, 10)],
  ])('%s is one unreadable batch that still counts its number', (_, payload) => {
    expect(decodeBatch(payload, 3)).toEqual({ seq: 3, rank: null, events: [], invalid: ['unreadable-batch'] });
  });

  it('cut off anywhere, a batch is unreadable as a whole', () => {
    const payload = pack([1.5, [tagged(), ['BlockRemoved', [2n ** 63n], 'GPU']], 0]);
    for (let end = 0; end < payload.length; end++) expect(decodeBatch(payload.subarray(0, end), 0).invalid).toEqual(['unreadable-batch']);
  });

  it('any bytes, and any batch with one byte changed, decode without a throw', () => {
    const payload = pack([1.5, [tagged({ extra_keys: [['s']], group_idx: 0 }), ['BlockRemoved', [2n ** 63n], 'GPU'], ['AllBlocksCleared']], 0]);
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void decodeBatch(bytes, 0)));
    fc.assert(
      fc.property(fc.nat({ max: payload.length - 1 }), fc.nat({ max: 255 }), (at, byte) => {
        const changed = payload.slice();
        changed[at] = byte;
        decodeBatch(changed, 0);
      }),
      { numRuns: 500 },
    );
  });
});
