import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeControl, encodeControl } from '../../../../src/adapters/nats/wire/control.ts';
import { decodeRequest, encodeRequest } from '../../../../src/adapters/nats/wire/engine-request.ts';
import { decodeFlow, encodeFlow } from '../../../../src/adapters/nats/wire/flow.ts';
import { decodeFrame, encodeFrame, type Frame } from '../../../../src/adapters/nats/wire/frame.ts';
import { decodeKvBatch, encodeKvBatch } from '../../../../src/adapters/nats/wire/kv-batch.ts';
import { decodeKvSnapshot, encodeKvSnapshot } from '../../../../src/adapters/nats/wire/kv-snapshot.ts';
import { decodeLoad, encodeLoad } from '../../../../src/adapters/nats/wire/load-report.ts';
import { decodePlacementEvent, encodePlacementEvent } from '../../../../src/adapters/nats/wire/placement-record.ts';
import { decodePolicy, encodePolicy } from '../../../../src/adapters/nats/wire/policy.ts';
import { decodeRegistration, encodeRegistration } from '../../../../src/adapters/nats/wire/registration.ts';
import { epoch } from '../../../../src/core/identity/ids.ts';
import type { SequenceHashes } from '../../../../src/core/identity/sequence-hash.ts';
import type { KvBatch, KvEvent } from '../../../../src/core/kv-stream/kv-event.ts';
import { RouterError } from '../../../../src/core/router-error.ts';
import { load, placed, registration } from '../../../support/nats-fixtures.ts';
import { bytesOf, engineRequest, rank0, withCode } from '../../../support/nats-requests.ts';

const badRequest = withCode('bad-request');
const json = (value: unknown): Uint8Array => bytesOf(JSON.stringify(value));

const someHashes = fc.array(fc.tuple(fc.integer(), fc.integer()), { maxLength: 5 }).map((pairs) => Int32Array.from(pairs.flat()) as SequenceHashes);
const oneHash = fc.tuple(fc.integer(), fc.integer()).map((pair) => Int32Array.from(pair) as SequenceHashes);
const tier = fc.constantFrom('device' as const, 'host' as const, 'disk' as const, 'external' as const);
const stored = fc.record({ kind: fc.constant('stored' as const), parent: fc.option(oneHash), hashes: someHashes, tier });
const kvEvent: fc.Arbitrary<KvEvent> = fc.oneof(stored, fc.record({ kind: fc.constant('removed' as const), hashes: someHashes, tier }), fc.constant({ kind: 'cleared' as const }));
const kvBatch: fc.Arbitrary<KvBatch> = fc.record({ epoch: fc.string().map(epoch), seq: fc.nat(), events: fc.array(kvEvent, { maxLength: 4 }) });

/** At an odd offset, as bytes lie in a message that came from a socket. */
function shifted(bytes: Uint8Array): Uint8Array {
  const memory = new Uint8Array(bytes.length + 3);
  memory.set(bytes, 3);
  return memory.subarray(3);
}

describe('KV batches and snapshots', () => {
  it('come back as they were, wherever their bytes begin', () => {
    fc.assert(
      fc.property(kvBatch, (batch) => {
        expect(decodeKvBatch(shifted(encodeKvBatch(batch)))).toEqual(batch);
      }),
    );
    fc.assert(
      fc.property(fc.array(stored, { maxLength: 4 }), fc.integer({ min: -1, max: 1e9 }), fc.boolean(), (runs, seq, partial) => {
        const snapshot = { id: rank0, epoch: epoch('e'), seq, partial, runs };
        expect(decodeKvSnapshot(shifted(encodeKvSnapshot(snapshot)), rank0)).toEqual(snapshot);
      }),
    );
  });

  it('a run of 1,000 hashes takes little more than its 8,000 bytes', () => {
    const hashes = new Int32Array(2_000) as SequenceHashes;
    const bytes = encodeKvBatch({ epoch: epoch('e1'), seq: 1, events: [{ kind: 'stored', parent: null, hashes, tier: 'device' }] });
    expect(bytes.length).toBeLessThan(8_100);
  });

  it.each([
    ['another version', { v: 2, epoch: 'e', seq: 0, events: [] }],
    ['a negative seq', { v: 1, epoch: 'e', seq: -1, events: [] }],
    ['a fraction as seq', { v: 1, epoch: 'e', seq: 0.5, events: [] }],
    ['no epoch', { v: 1, seq: 0, events: [] }],
    ['events that are no list', { v: 1, epoch: 'e', seq: 0, events: {} }],
    ['an unknown kind', { v: 1, epoch: 'e', seq: 0, events: [{ kind: 'moved' }] }],
    ['half a hash', { v: 1, epoch: 'e', seq: 0, events: [{ kind: 'removed', hashes: new Uint8Array(12), tier: 'device' }] }],
    ['hashes as text', { v: 1, epoch: 'e', seq: 0, events: [{ kind: 'removed', hashes: 'x', tier: 'device' }] }],
    ['two parents', { v: 1, epoch: 'e', seq: 0, events: [{ kind: 'stored', parent: new Uint8Array(16), hashes: new Uint8Array(8), tier: 'device' }] }],
    ['an unknown tier', { v: 1, epoch: 'e', seq: 0, events: [{ kind: 'removed', hashes: new Uint8Array(8), tier: 'tape' }] }],
    ['a list', [1, 2]],
    ['nothing', null],
  ])('a batch with %s is refused', (_what, value) => {
    expect(() => decodeKvBatch(encode(value))).toThrow(badRequest);
  });
});

describe('any bytes', () => {
  const decoders: readonly (readonly [string, (bytes: Uint8Array) => unknown])[] = [
    ['kv batch', decodeKvBatch],
    ['snapshot', (bytes) => decodeKvSnapshot(bytes, rank0)],
    ['load', (bytes) => decodeLoad(bytes, rank0)],
    ['request', decodeRequest],
    ['frame', decodeFrame],
    ['flow', decodeFlow],
    ['control', decodeControl],
    ['registration', decodeRegistration],
    ['policy', decodePolicy],
    ['placement', decodePlacementEvent],
  ];

  it.each(decoders)('are a %s, or refused with a RouterError: nothing else is thrown', (_name, decode) => {
    const attempt = (bytes: Uint8Array): void => {
      try {
        decode(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(RouterError);
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), attempt));
    fc.assert(fc.property(fc.jsonValue(), (value) => attempt(json(value))));
    fc.assert(fc.property(fc.dictionary(fc.constantFrom('v', 'epoch', 'seq', 'op', 'rank', 'event', 'ranks', 'pool'), fc.jsonValue()), (value) => attempt(encode({ ...value, v: 1 }))));
  });
});

describe('frames', () => {
  const frames: readonly Frame[] = [
    { kind: 'head', seq: 0, status: 200, headers: [['a', '1'], ['a', '2']] },
    { kind: 'data', seq: 1, bytes: bytesOf('some') },
    { kind: 'data', seq: 4_294_967_295, bytes: new Uint8Array(0) },
    { kind: 'heartbeat', seq: 2 },
    { kind: 'probe', seq: 2 },
    { kind: 'end', seq: 3 },
  ];

  it.each(frames)('a $kind frame comes back as it was', (frame) => {
    expect(decodeFrame(shifted(encodeFrame(frame)))).toEqual(frame);
  });

  it('an error keeps its code and message, and a code we do not know is a failure of the worker', () => {
    const frame = decodeFrame(encodeFrame({ kind: 'error', seq: 1, error: new RouterError('engine-unreachable', 'no engine') }));
    expect(frame).toMatchObject({ kind: 'error', seq: 1, error: { code: 'engine-unreachable', message: 'no engine' } });
    const newer = Uint8Array.of(5, 0, 0, 0, 0, ...encode({ v: 1, code: 'from-the-future', message: 'x' }));
    expect(decodeFrame(newer)).toMatchObject({ error: { code: 'worker-failed' } });
  });

  it('a status that HTTP does not have is refused', () => {
    expect(() => decodeFrame(Uint8Array.of(1, 0, 0, 0, 0, ...encode({ v: 1, status: 700, headers: [] })))).toThrow(badRequest);
  });
});

describe('flow messages', () => {
  it('come back as they were, above 32 bits too', () => {
    for (const flow of [{ kind: 'cancel' }, { kind: 'consumed', totalBytes: 0 }, { kind: 'consumed', totalBytes: 2 ** 40 }] as const) expect(decodeFlow(shifted(encodeFlow(flow)))).toEqual(flow);
  });

  it('a total that no double holds is refused', () => {
    expect(() => decodeFlow(Uint8Array.of(1, 255, 255, 255, 255, 255, 255, 255, 255))).toThrow(badRequest);
  });
});

describe('requests and control messages', () => {
  it('come back as they were', () => {
    const message = { request: engineRequest({ body: Uint8Array.of(0, 255, 10) }), token: 'abc', windowBytes: 1_024 };
    expect(decodeRequest(encodeRequest(message))).toEqual(message);
    for (const control of [{ op: 'snapshot', rank: rank0.rank }, { op: 'tokenize', body: Uint8Array.of(1) }, { op: 'drain', draining: false }] as const) expect(decodeControl(encodeControl(control))).toEqual(control);
  });

  it('a token that would reach other subjects is refused', () => {
    expect(() => decodeRequest(encodeRequest({ request: engineRequest(), token: 'a.>', windowBytes: 1 }))).toThrow(badRequest);
  });

  it('a header that is no pair of texts is refused', () => {
    const fields = { v: 1, token: 'a', window: 1, id: 'r', method: 'GET', path: '/', body: new Uint8Array(0), deadlineMs: 1 };
    expect(() => decodeRequest(encode({ ...fields, headers: [['a', 1]] }))).toThrow(badRequest);
    expect(() => decodeRequest(encode({ ...fields, headers: ['a'] }))).toThrow(badRequest);
  });
});

describe('load, registrations, policy and placement events', () => {
  it('come back as they were', () => {
    expect(decodeLoad(encodeLoad(load()), rank0)).toEqual(load());
    expect(decodeRegistration(encodeRegistration(registration()))).toEqual(registration());
    const silent = registration({ events: { kind: 'none', why: 'too old' }, unnamedInEvents: ['salt', 'lora'] });
    expect(decodeRegistration(encodeRegistration(silent))).toEqual(silent);
    expect(decodePolicy(encodePolicy({ mode: 'random', parentAffinity: 'parent' }))).toEqual({ mode: 'random', parentAffinity: 'parent' });
    expect(decodePlacementEvent(encodePlacementEvent(placed()))).toEqual(placed());
  });

  it('a figure that is not reported stays null, not 0', () => {
    expect(decodeLoad(encode({ v: 1, heldBlocks: 0 }), rank0)).toMatchObject({ runningRequests: null, usedTokens: null, heldBlocks: 0 });
  });

  it.each([
    ['a name that is no subject token', { worker: 'a.b' }],
    ['a rank below zero', { ranks: [-1] }],
    ['a rank that is no number', { ranks: [null] }],
    ['a rank twice', { ranks: [0, 0] }],
    ['more ranks than any worker has', { ranks: Array.from({ length: 1_025 }, (_, rank) => rank) }],
    ['blocks of no tokens', { blockSize: 0 }],
    ['blocks of too many tokens', { blockSize: 1_025 }],
    ['another version', { v: 2 }],
  ])('a registration with %s is refused', (_what, change) => {
    expect(() => decodeRegistration(json({ ...registration(), ...change }))).toThrow(RouterError);
  });

  it.each([
    ['another version', { v: 2 }],
    ['an unknown event', { event: 'vanished' }],
    ['a claim that is no figure', { claim: { prefillTokens: 'many', blocks: 1 } }],
    ['a rank as text', { rank: '0' }],
    ['no candidates', { candidates: null }],
  ])('a placement event with %s is refused', (_what, change) => {
    expect(() => decodePlacementEvent(json({ ...placed(), ...change }))).toThrow(badRequest);
  });

  it('a mode we do not know is no policy', () => {
    expect(() => decodePolicy(json({ v: 1, mode: 'best', parentAffinity: 'off' }))).toThrow(badRequest);
  });
});
