import { describe, expect, it } from 'vitest';
import { noIsolation } from '../../src/core/identity/chain-seed.ts';
import { hashBlocks } from '../../src/core/identity/hash-blocks.ts';
import { chainSeed } from '../../src/core/identity/chain-seed.ts';
import { RouterError } from '../../src/core/router-error.ts';
import type { PlacementEvent } from '../../src/core/placement/placement-event.ts';
import type { EngineResponse } from '../../src/ports/request-transport.ts';
import { parseDpRank } from '../../src/core/identity/ids.ts';
import { answering, eventStream, failing, FakeRouter, json, pieces, pool, rank, registration, response, silentEngine, streaming, textOf } from './route/route-fakes.ts';
import { saying } from '../support/saying.ts';

const two = (): FakeRouter => new FakeRouter([registration('w1'), registration('w2')]);
const four = Array.from({ length: 20 }, (_, index) => index);
const ids = { input_ids: four };
const done = '{"text":"hi","meta_info":{"prompt_tokens":20,"completion_tokens":1,"cached_tokens":0}}';
const last = (router: FakeRouter): PlacementEvent => {
  const event = router.events.at(-1);
  if (event === undefined) throw new Error('no event was published');
  return event;
};

describe('a request that goes well', () => {
  it('reaches its client as the engine sent it, and its events tell its life', async () => {
    const router = two().engine(rank('w1'), streaming('data: {"a":1}\n\n', 'data: [DO', 'NE]\n\n')).engine(rank('w2'), failing('internal'));
    const answer = await router.ask(ids);
    expect(await textOf(answer.body)).toBe('data: {"a":1}\n\ndata: [DONE]\n\n');
    expect(answer.headers).toEqual(Object.entries(eventStream));
    expect(router.eventNames()).toEqual(['placed', 'first_token', 'finished']);
  });

  it('R6: cached_tokens 0 stays 0, and unsaid stays unknown', async () => {
    const router = two().engine(rank('w1'), answering(done));
    await router.answer(ids);
    expect(last(router)).toMatchObject({ event: 'finished', status: 200, promptTokens: 20, cachedTokens: 0, completionTokens: 1 });
    router.engine(rank('w1'), answering('{"usage":{"prompt_tokens":20,"completion_tokens":1,"prompt_tokens_details":null}}'));
    await router.answer(ids, {}, { path: '/v1/chat/completions' });
    expect(last(router)).toMatchObject({ event: 'finished', promptTokens: 20, cachedTokens: null });
  });

  it('reads the usage of a stream from its last event that has one', async () => {
    const event = (tokens: number): string => `data: {"meta_info":{"prompt_tokens":20,"completion_tokens":${tokens},"cached_tokens":16}}\n\n`;
    const router = two().engine(rank('w1'), streaming(event(1), event(2), event(3), 'data: [DONE]\n\n'));
    await router.answer(ids);
    expect(last(router)).toMatchObject({ event: 'finished', cachedTokens: 16, completionTokens: 3 });
  });

  it('L7: nothing is claimed when everything is done', async () => {
    const router = two().engine(rank('w1'), answering(done)).engine(rank('w2'), failing('worker-failed'));
    await Promise.allSettled([1, 2, 3, 4].map(() => router.answer(ids)));
    expect(router.ledger.size).toBe(0);
  });

  it('an engine that counts other prompt tokens raises an alarm', async () => {
    const router = two().engine(rank('w1'), answering('{"meta_info":{"prompt_tokens":21}}'));
    await router.answer(ids);
    expect(router.metrics.counts).toContain('differ');
  });
});

describe('what the engine is sent', () => {
  it("R15: the client's own bytes, fields and headers, with the request's id in front", async () => {
    const router = two().engine(rank('w1'), answering(done));
    await router.answer({ ...ids, unheard_of: [1, { a: null }] }, { 'x-custom': 'yes', authorization: 'Bearer ours', connection: 'keep-alive, x-hop', 'x-hop': '1', 'content-length': '9' });
    expect(router.transport.bodies()).toEqual([`{"rid":"q1","input_ids":[${four.join(',')}],"unheard_of":[1,{"a":null}]}`]);
    expect(router.transport.sent[0]?.request.headers).toEqual([['x-custom', 'yes']]);
  });

  it('a rid of the client stays, and several prompts get none', async () => {
    const router = two().engine(rank('w1'), answering(done));
    await router.answer({ rid: 'mine', ...ids });
    await router.answer({ text: ['a', 'b'] });
    expect(router.transport.bodies()).toEqual([JSON.stringify({ rid: 'mine', ...ids }), '{"text":["a","b"]}']);
  });

  it('the DP rank where a worker has several, under the name that its version knows', async () => {
    const ranks = [parseDpRank(0), parseDpRank(1)];
    const router = new FakeRouter([registration('w1', { ranks })]).engine(rank('w1', 1), answering(done));
    await router.answer({ rid: 'a', input_ids: [1] }, { 'x-kinroute-worker': 'w1', 'x-kinroute-rank': '1' });
    const old = new FakeRouter([registration('w1', { ranks, engineVersion: '0.5.9' })]).engine(rank('w1', 1), answering(done));
    await old.answer({ rid: 'a', input_ids: [1] }, { 'x-kinroute-worker': 'w1', 'x-kinroute-rank': '1' });
    expect([...router.transport.bodies(), ...old.transport.bodies()]).toEqual(['{"routed_dp_rank":1,"rid":"a","input_ids":[1]}', '{"data_parallel_rank":1,"rid":"a","input_ids":[1]}']);
  });

  it('the session that a header names, unless the body has its own', async () => {
    const router = two().engine(rank('w1'), answering(done));
    await router.answer({ rid: 'a' }, { 'x-kinroute-session-id': 's1' });
    await router.answer({ rid: 'a', session_id: 's2' });
    await router.answer({ rid: 'a', session_params: { id: 'open' } }, { 'x-kinroute-session-id': 's1' });
    expect(router.transport.bodies()).toEqual(['{"session_id":"s1","rid":"a"}', '{"rid":"a","session_id":"s2"}', '{"rid":"a","session_params":{"id":"open"}}']);
  });
});

describe('a client that goes', () => {
  it('R1: the engine is cancelled and the claim released while the engine is silent', async () => {
    const { engine, cancelled } = silentEngine('data: {}\n\n');
    const router = two().engine(rank('w1'), engine);
    const client = new AbortController();
    const reading = textOf((await router.ask(ids, {}, { signal: client.signal })).body);
    expect(router.ledger.size).toBe(1);
    client.abort();
    expect(router.ledger.size).toBe(0);
    await cancelled;
    await expect(reading).rejects.toMatchObject({ code: 'cancelled' });
    expect(last(router)).toMatchObject({ event: 'failed', code: 'cancelled' });
  });

  it.each([
    ['of a known length', done, { 'content-length': String(done.length), ...json }],
    ['of a stream', 'data: {}\n\ndata: [DONE]\n\n', eventStream],
  ])('after the last byte of an answer %s is no cancel: it finished', async (_kind, text, headers) => {
    const { engine } = silentEngine(text, headers);
    const router = two().engine(rank('w1'), engine);
    const client = new AbortController();
    const body = (await router.ask(ids, {}, { signal: client.signal })).body[Symbol.asyncIterator]();
    expect((await body.next()).done).toBe(false);
    client.abort();
    await body.return?.();
    expect(router.ledger.size).toBe(0);
    expect(last(router)).toMatchObject({ event: 'finished', status: 200 });
  });

  it('before the first byte takes the prediction back', async () => {
    const { engine, cancelled } = silentEngine(null);
    const router = two().engine(rank('w1'), engine);
    const client = new AbortController();
    const asking = router.ask(ids, {}, { signal: client.signal });
    await new Promise((resolve) => setImmediate(resolve));
    expect(router.predictions.size).toBe(1);
    client.abort();
    await cancelled;
    await expect(asking).rejects.toMatchObject({ code: 'cancelled' });
    expect([router.predictions.size, router.ledger.size, router.transport.sent.length]).toEqual([0, 0, 1]);
  });

  it('is told apart from a router that stops: that ends the stream with an error event', async () => {
    const stopping = new RouterError('stopping', 'the router is stopping');
    const stopped = (signal: AbortSignal): Promise<never> => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as RouterError), { once: true }));
    async function* body(signal: AbortSignal): AsyncGenerator<Uint8Array> {
      yield* pieces('data: 1\n\n');
      await stopped(signal);
    }
    const router = two().engine(rank('w1'), (_request, signal) => Promise.resolve(response(200, eventStream, body(signal))));
    const time = new AbortController();
    const reading = textOf((await router.ask(ids, {}, { signal: time.signal })).body);
    await new Promise((resolve) => setImmediate(resolve));
    time.abort(stopping);
    expect(await reading).toBe('data: 1\n\ndata: {"error":{"message":"the router is stopping","type":"server_error","code":"stopping"}}\n\n');
    expect(last(router)).toMatchObject({ event: 'failed', code: 'stopping' });
    expect(router.ledger.size).toBe(0);
  });

  it('and leaves the stream in the middle releases its claim', async () => {
    const router = two().engine(rank('w1'), streaming('data: 1\n\n', 'data: 2\n\n'));
    for await (const _piece of (await router.ask(ids)).body) break;
    expect(router.ledger.size).toBe(0);
    expect(last(router)).toMatchObject({ event: 'failed', code: 'cancelled' });
  });
});

describe('a rank that fails before the first byte', () => {
  it('R2: another one answers, and the next request does not try the failed one', async () => {
    const router = two().engine(rank('w1'), failing('engine-unreachable')).engine(rank('w2'), answering(done));
    expect(await router.answer(ids)).toBe(done);
    expect(router.eventNames()).toEqual(['placed', 'rerouted', 'placed', 'finished']);
    await router.answer({ input_ids: [5, 6, 7] });
    expect(router.workers()).toEqual(['w1', 'w2', 'w2']);
    router.clock.now += 1_001;
    router.engine(rank('w1'), answering(done));
    await router.answer({ input_ids: [8, 9] });
    expect(router.workers().at(-1)).toBe('w1');
  });

  it('an agent that stops before the first byte is followed by another', async () => {
    const router = two().engine(rank('w1'), failing('stopping')).engine(rank('w2'), answering(done));
    expect(await router.answer(ids)).toBe(done);
    expect(router.workers()).toEqual(['w1', 'w2']);
  });

  it('the only rank is tried again, whatever it did a moment ago', async () => {
    const router = new FakeRouter([registration('w1')]).engine(rank('w1'), failing('worker-failed'));
    await expect(router.ask(ids)).rejects.toMatchObject({ code: 'worker-failed' });
    router.engine(rank('w1'), answering(done));
    expect(await router.answer(ids)).toBe(done);
  });

  it('R12: dead between head and first byte, the retry goes to another rank', async () => {
    const dead = (): Promise<EngineResponse> => Promise.resolve(response(200, json, pieces(new RouterError('worker-failed', 'killed'))));
    const router = two().engine(rank('w1'), dead).engine(rank('w2'), answering(done));
    expect(await router.answer(ids)).toBe(done);
    expect(router.workers()).toEqual(['w1', 'w2']);
  });

  it('R4: 503 there and 200 elsewhere is one retry and a 200', async () => {
    const router = two().engine(rank('w1'), answering('{"error":"busy"}', 503)).engine(rank('w2'), answering(done));
    const answer = await router.ask(ids);
    expect([answer.status, await textOf(answer.body), router.transport.sent.length]).toEqual([200, done, 2]);
    expect(router.metrics.counts).toEqual(['rerouted engine-503']);
  });

  it('503 everywhere is passed on as the engine said it', async () => {
    const router = two().engine(rank('w1'), answering('{"error":"busy 1"}', 503)).engine(rank('w2'), answering('{"error":"busy 2"}', 503));
    const answer = await router.ask(ids);
    expect([answer.status, await textOf(answer.body)]).toEqual([503, '{"error":"busy 2"}']);
    expect(router.ledger.size).toBe(0);
  });

  it('R11: a 429 is tried at one other rank at most, and passed on with its retry-after', async () => {
    const busy = (): Promise<EngineResponse> => Promise.resolve(response(429, { ...json, 'retry-after': '7' }, pieces('{}')));
    const router = new FakeRouter(['w1', 'w2', 'w3'].map((name) => registration(name)));
    for (const name of ['w1', 'w2', 'w3']) router.engine(rank(name), busy);
    const answer = await router.ask(ids);
    expect([answer.status, answer.headers, router.transport.sent.length]).toEqual([429, [['content-type', 'application/json'], ['retry-after', '7']], 2]);
    await textOf(answer.body);
  });

  it('R3: a 400 is passed on as it is, without a retry and without a word against the rank', async () => {
    const router = two().engine(rank('w1'), answering('{"message":"bad temperature"}', 400));
    const answer = await router.ask(ids);
    expect([answer.status, await textOf(answer.body), router.transport.sent.length]).toEqual([400, '{"message":"bad temperature"}', 1]);
    expect(last(router)).toMatchObject({ event: 'finished', status: 400 });
    expect(router.predictions.size).toBe(0);
    await router.answer(ids);
    expect(router.workers()).toEqual(['w1', 'w1']);
  });

  it('R9: nobody listens: the next worker is asked, and where there is none the code says so', async () => {
    const router = two().engine(rank('w2'), answering(done));
    expect(await router.answer(ids)).toBe(done);
    const alone = new FakeRouter([registration('w1')]);
    await expect(alone.ask(ids)).rejects.toMatchObject({ code: 'no-responder' });
    expect(last(alone)).toMatchObject({ event: 'failed', code: 'no-responder' });
  });

  it('stops after as many retries as allowed', async () => {
    const router = new FakeRouter(['w1', 'w2', 'w3'].map((name) => registration(name)), 1);
    await expect(router.ask(ids)).rejects.toMatchObject({ code: 'no-responder' });
    expect(router.transport.sent.length).toBe(2);
  });

  it('a prompt that is too large for the bus is not tried elsewhere', async () => {
    const router = two().engine(rank('w1'), failing('payload-too-large'));
    await expect(router.ask(ids)).rejects.toMatchObject({ code: 'payload-too-large' });
    expect(router.transport.sent.length).toBe(1);
  });
});

describe('an answer that breaks off', () => {
  const killed = new RouterError('worker-failed', 'worker w1 is gone');

  it('R5: a stream ends with an error event, without a retry, and the event says failed', async () => {
    const router = two().engine(rank('w1'), streaming('data: {"a":1}\n\n', killed)).engine(rank('w2'), answering(done));
    expect(await router.answer(ids)).toBe('data: {"a":1}\n\ndata: {"error":{"message":"worker w1 is gone","type":"server_error","code":"worker-failed"}}\n\n');
    expect(router.transport.sent.length).toBe(1);
    expect(last(router)).toMatchObject({ event: 'failed', code: 'worker-failed' });
    expect(router.ledger.size).toBe(0);
  });

  it('a stream that ends in the middle of an event is a failure, although its connection ended well', async () => {
    const router = two().engine(rank('w1'), streaming('data: {"a":1}\n\n', 'data: {"b"'));
    expect(await router.answer(ids)).toMatch(/^data: \{"a":1\}\n\ndata: \{"b"\n\ndata: \{"error":\{"message":"[^"]+","type":"server_error","code":"engine-stream-broken"\}\}\n\n$/);
    expect(last(router)).toMatchObject({ event: 'failed', code: 'engine-stream-broken' });
  });

  it('an event that was begun is ended before the error event', async () => {
    const router = two().engine(rank('w1'), streaming('data: {"a"', killed));
    expect(await router.answer(ids)).toMatch(/^data: \{"a"\n\ndata: \{"error"/);
  });

  it('a JSON answer throws, so that half of it is not taken for the whole', async () => {
    const router = two().engine(rank('w1'), () => Promise.resolve(response(200, json, pieces('{"te', killed))));
    await expect(textOf((await router.ask(ids)).body)).rejects.toMatchObject({ code: 'worker-failed' });
  });

  it('R10: an error answer to a stream keeps its type and its bytes', async () => {
    const router = two().engine(rank('w1'), answering('{"object":"error"}', 500));
    const answer = await router.ask({ ...ids, stream: true });
    expect([answer.status, answer.headers, await textOf(answer.body)]).toEqual([500, [['content-type', 'application/json']], '{"object":"error"}']);
    expect(last(router)).toMatchObject({ event: 'failed' });
  });

  it('R18: an error event inside a stream of status 200 is a failure', async () => {
    const router = two().engine(rank('w1'), streaming('data: {"error":{"message":"x"}}\n\n', 'data: [DONE]\n\n'));
    expect(await router.answer(ids)).toBe('data: {"error":{"message":"x"}}\n\ndata: [DONE]\n\n');
    expect(last(router)).toMatchObject({ event: 'failed', code: 'engine-stream-broken' });
  });
});

describe('where it goes', () => {
  it('L3: eight prompts at once to eight idle workers are one each, before any load report', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `w${index}`);
    const router = new FakeRouter(names.map((name) => registration(name)));
    for (const name of names) router.engine(rank(name), answering(done));
    await Promise.all(names.map((_, index) => router.answer({ input_ids: [index, 1, 2, 3, 4] })));
    expect([...new Set(router.workers())].length).toBe(8);
  });

  it('what a rank holds by its events draws the request there', async () => {
    const router = two().engine(rank('w2'), answering(done));
    router.pools.index.apply(rank('w2'), { kind: 'stored', parent: null, hashes: hashBlocks(four, 4, chainSeed(pool, noIsolation)), tier: 'device' });
    await router.answer(ids);
    // 20 tokens are five blocks; the last token is always computed, so four of them are reused.
    expect(router.placed[0]).toMatchObject({ id: { worker: 'w2' }, mode: 'event', reason: 'lowest-cost', overlapBlocks: 4 });
  });

  it.each([
    ['an extra key', 'extra-key', { extra_key: 'k' }],
    ['a salt', 'salt', { cache_salt: 's' }],
    ['an adapter', 'lora', { lora_path: 'x' }],
    ['an adapter in the model', 'lora', { model: 'm:x' }],
  ] as const)('of a prompt kept apart by %s, which its events do not name, a rank is not asked by events but by prediction', async (_what, part, fields) => {
    const router = new FakeRouter([registration('w1', { unnamedInEvents: [part], models: ['m'] })]).engine(rank('w1'), answering(done));
    router.pools.index.apply(rank('w1'), { kind: 'stored', parent: null, hashes: hashBlocks(four, 4, chainSeed(pool, noIsolation)), tier: 'device' });
    await router.answer(ids);
    await router.answer({ ...ids, ...fields });
    await router.answer({ ...ids, extra_key: '', cache_salt: null, model: 'm' });
    expect(router.events.filter(({ event }) => event === 'placed')).toMatchObject([
      { overlapBlocks: 4, overlapSource: 'events', candidates: [{ trusted: true }] },
      { overlapBlocks: 4, overlapSource: 'predicted', candidates: [{ trusted: false }] },
      { overlapBlocks: 4, overlapSource: 'events', candidates: [{ trusted: true }] },
    ]);
  });

  it('the mode in force decides, from one request to the next', async () => {
    const router = two().engine(rank('w1'), answering(done)).engine(rank('w2'), answering(done));
    for (const mode of ['round-robin', 'round-robin', 'random'] as const) {
      router.policy = { mode, parentAffinity: 'off' };
      await router.answer({ input_ids: [1] });
    }
    expect(router.placed.map(({ reason }) => reason)).toEqual(['round-robin', 'round-robin', 'random']);
    expect(router.workers().slice(0, 2)).toEqual(['w1', 'w2']);
  });

  it('an explicit target comes before the mode', async () => {
    const router = two().engine(rank('w2'), answering(done));
    await router.answer(ids, { 'x-kinroute-worker': 'w2' });
    expect(router.placed).toMatchObject([{ id: { worker: 'w2', rank: 0 }, reason: 'explicit-target' }]);
  });

  it('a target that does not exist is refused with the names that do', async () => {
    const router = two();
    await expect(router.ask(ids, { 'x-kinroute-worker': 'w9' })).rejects.toMatchObject({ code: 'unknown-target', message: saying('w1, w2') });
    await expect(router.ask(ids, { 'x-kinroute-worker': 'w1', 'x-kinroute-rank': '3' })).rejects.toMatchObject({ code: 'unknown-target' });
    await expect(router.ask({ ...ids, routed_dp_rank: 7 })).rejects.toMatchObject({ code: 'unknown-target' });
    expect(router.transport.sent).toEqual([]);
  });

  it('a rank that the client names in the body is one of that number', async () => {
    const ranks = [parseDpRank(0), parseDpRank(1)];
    const router = new FakeRouter([registration('w1', { ranks })]).engine(rank('w1', 1), answering(done));
    await router.answer({ rid: 'a', routed_dp_rank: 1 });
    expect(router.transport.bodies()).toEqual(['{"rid":"a","routed_dp_rank":1}']);
  });

  it('without a worker the request is rejected with a code, and told', async () => {
    const router = two();
    for (const each of router.pools.registrations) Object.assign(each, { draining: true });
    await expect(router.ask(ids)).rejects.toMatchObject({ code: 'no-worker' });
    expect(last(router)).toMatchObject({ event: 'rejected', code: 'no-worker' });
  });
});

describe('sessions', () => {
  const affinity = (): FakeRouter => {
    const router = new FakeRouter(['w1', 'w2', 'w3'].map((name) => registration(name)));
    for (const name of ['w1', 'w2', 'w3']) router.engine(rank(name), answering(done));
    router.policy = { mode: 'affinity', parentAffinity: 'siblings' };
    return router;
  };

  it('a session stays where it began, and siblings of one parent stay together', async () => {
    const router = affinity();
    for (const _turn of [1, 2, 3]) await router.answer(ids, { 'x-kinroute-session-id': 's' });
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => router.answer(ids, { 'x-kinroute-session-id': name, 'x-kinroute-parent-session-id': 'p' })));
    expect(new Set(router.workers().slice(0, 3)).size).toBe(1);
    expect(new Set(router.workers().slice(3)).size).toBe(1);
    expect(router.placed.map(({ reason }) => reason)).toEqual(['new-session', 'bound-session', 'bound-session', 'new-session', 'sibling-group', 'sibling-group', 'sibling-group']);
  });

  it('S3: one session id under two API keys is two sessions', async () => {
    const router = affinity();
    await router.answer(ids, { 'x-kinroute-session-id': 's' }, { tenant: 'a' });
    await router.answer(ids, { 'x-kinroute-session-id': 's' }, { tenant: 'b' });
    expect(router.placed.map(({ reason }) => reason)).toEqual(['new-session', 'new-session']);
  });

  it('S11: an id of 300 bytes is refused, a blank one is none', async () => {
    const router = affinity();
    await expect(router.ask(ids, { 'x-kinroute-session-id': 'x'.repeat(300) })).rejects.toMatchObject({ code: 'session-id-too-long' });
    await router.answer(ids, { 'x-kinroute-session-id': '  ' });
    expect(router.placed.map(({ reason }) => reason)).toEqual(['least-loaded']);
  });

  it('an id in UTF-8 is the same by header and by body, and its bytes are counted once', async () => {
    const router = affinity();
    const id = 'é'.repeat(100);
    // HTTP hands each byte of a header over as one letter.
    await router.answer(ids, { 'x-kinroute-session-id': Buffer.from(id).toString('latin1') });
    await router.answer({ ...ids, session_id: id });
    expect(router.placed.map(({ reason }) => reason)).toEqual(['new-session', 'bound-session']);
    expect(JSON.parse(router.transport.bodies()[0] ?? '')).toMatchObject({ session_id: id });
  });

  it('S13: a session goes with its retry', async () => {
    const router = affinity();
    await router.answer(ids, { 'x-kinroute-session-id': 's' });
    const first = router.workers()[0] ?? '';
    router.engine(rank(first), failing('engine-unreachable'));
    await router.answer(ids, { 'x-kinroute-session-id': 's' });
    const second = router.workers().at(-1);
    expect(second).not.toBe(first);
    await router.answer(ids, { 'x-kinroute-session-id': 's' });
    expect(router.placed.at(-1)).toMatchObject({ id: { worker: second }, reason: 'bound-session' });
  });

  it('S10: the worker of a session is gone: it is placed anew and bound anew', async () => {
    const router = affinity();
    await router.answer(ids, { 'x-kinroute-session-id': 's' });
    const gone = router.workers()[0] ?? '';
    router.pools.remove(gone);
    router.sessions.invalidateWorker(rank(gone).worker);
    await router.answer(ids, { 'x-kinroute-session-id': 's' });
    await router.answer(ids, { 'x-kinroute-session-id': 's' });
    expect(router.placed.map(({ reason }) => reason)).toEqual(['new-session', 'new-session', 'bound-session']);
    expect(router.workers()[1]).not.toBe(gone);
  });

  it('a request with a target binds nothing', async () => {
    const router = affinity();
    await router.answer(ids, { 'x-kinroute-session-id': 's', 'x-kinroute-worker': 'w3' });
    expect(router.sessions.list()).toEqual([]);
  });

  it('a session that says it is over is unbound', async () => {
    const router = affinity();
    await router.answer(ids, { 'x-kinroute-session-id': 's', 'x-kinroute-session-final': 'true' });
    expect(router.sessions.list()).toEqual([]);
  });
});

describe('what a client gets wrong', () => {
  it('an unknown model is refused with the known ones, and nothing is sent', async () => {
    const router = two();
    await expect(router.ask({ model: 'gpt-4', ...ids })).rejects.toMatchObject({ code: 'unknown-model', message: saying('llama-8b') });
    expect(router.transport.sent).toEqual([]);
  });

  it('R16: a token id outside the vocabulary is refused with the id and the size, in batches too', async () => {
    const router = two();
    await expect(router.ask({ input_ids: [1, 1_000] })).rejects.toMatchObject({ code: 'bad-request', message: saying(/1000 at place 1.*999.*1000/) });
    await expect(router.ask({ input_ids: [[1], [-1]] })).rejects.toMatchObject({ code: 'bad-request', message: saying('-1') });
    expect(router.transport.sent).toEqual([]);
  });

  it('a prompt that fills the context is refused with both sizes', async () => {
    await expect(two().ask({ input_ids: Array.from({ length: 4_096 }, () => 1) })).rejects.toMatchObject({ code: 'prompt-too-long', message: saying(/4096 tokens.*4096/) });
  });

  it('without any worker the client is told to start one', async () => {
    await expect(new FakeRouter([]).ask(ids)).rejects.toMatchObject({ code: 'no-worker' });
  });
});
