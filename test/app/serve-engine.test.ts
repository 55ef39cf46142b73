import { afterEach, describe, expect, it } from 'vitest';
import { parseDpRank } from '../../src/core/identity/ids.ts';
import type { EngineBatch } from '../../src/core/kv-stream/engine-event.ts';
import { RouterError } from '../../src/core/router-error.ts';
import type { EngineAgent } from '../../src/app/serve-engine.ts';
import { bytesOf, codeOf, engineRequest, never } from '../support/nats-requests.ts';
import { AgentStage, bodyOf, description, rankEndpoints } from './agent-fakes.ts';
import { settle } from './follow-fakes.ts';

const [rank0, rank1] = [parseDpRank(0), parseDpRank(1)];
const idle = { waitingRequests: 0, usedTokens: 0, capacityTokens: 2_048, maxRunningRequests: 8, waitingUncachedTokens: 0 };

/** One page of 16 tokens that begins a prompt. */
const page = (seq: number, token: number): EngineBatch => ({
  seq,
  rank: 0,
  invalid: [],
  events: [{ kind: 'stored', hashes: [String(token)], parent: null, tokens: new Int32Array(16).fill(token), pageSize: 16, tier: 'device', lora: null, salt: null, group: null, bigram: false }],
});
const clear = (seq: number): EngineBatch => ({ seq, rank: 0, invalid: [], events: [{ kind: 'cleared' }] });

const agents: EngineAgent[] = [];
async function started(stage: AgentStage): Promise<EngineAgent> {
  const agent = stage.agent();
  agents.push(agent);
  await agent.start();
  return agent;
}
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.close(AbortSignal.abort());
});

describe('an agent starting', () => {
  it('takes its name, serves, and only then lets routers send', async () => {
    const stage = new AgentStage();
    await started(stage);
    expect(stage.did).toEqual(['register draining', 'serve 0', 'register']);
    expect(stage.registration).toMatchObject({ worker: 'w1', blockSize: 16, pageSize: 16, models: ['tiny'], ranks: [0], engineKind: 'sglang', events: { kind: 'zmq' }, draining: false });
    expect(stage.loads.map((load) => load.id.rank)).toEqual([0]);
  });

  it('E20: pages that do not fit the blocks are refused before anything is registered, both numbers named', async () => {
    const stage = new AgentStage();
    stage.engine.described = description({ pageSize: 48 });
    await expect(stage.agent({ blockSize: 64 }).start()).rejects.toThrow(/48.*64/);
    expect(stage.did).toEqual([]);
  });

  it('under a name that is taken publishes and serves nothing', async () => {
    const stage = new AgentStage();
    stage.nameTaken = true;
    expect(await codeOf(stage.agent().start())).toBe('bad-config');
    expect([stage.did, stage.batches, stage.loads, stage.handler]).toEqual([[], [], [], null]);
  });

  it('before an engine that is not there rejects', async () => {
    const stage = new AgentStage();
    stage.engine.gone = true;
    expect(await codeOf(stage.agent().start())).toBe('engine-unreachable');
  });

  it('E38: before an engine whose events are not followed serves all the same and says why', async () => {
    const stage = new AgentStage();
    stage.engine.described = description({ events: { why: 'too old' } });
    await started(stage);
    expect(stage.registration?.events).toEqual({ kind: 'none', why: 'too old' });
    expect(stage.control?.snapshot(rank0)).toBeNull();
    expect(stage.batches).toEqual([]);
  });

  it('before an engine with pages over pairs of tokens follows no events and says why', async () => {
    const stage = new AgentStage();
    stage.engine.described = description({ bigram: true });
    await started(stage);
    expect(stage.registration?.events).toMatchObject({ kind: 'none', why: expect.stringContaining('EAGLE') as string });
    expect(stage.events.subscribed).toEqual([]);
    expect(stage.batches).toEqual([]);
  });

  it('E40: a replay socket on the port of a KV socket is not asked', async () => {
    const stage = new AgentStage();
    const collides = { ...rankEndpoints(0), replayEndpoint: rankEndpoints(1).endpoint };
    stage.engine.described = description({ ranks: [rank0, rank1], events: { ranks: [collides, rankEndpoints(1)], topic: '' } });
    await started(stage);
    expect(stage.events.subscribed.map((each) => each.replayEndpoint)).toEqual([null, 'tcp://127.0.0.1:5658']);
  });
});

describe('KV events', () => {
  it('of one rank leave the other as it was', async () => {
    const stage = new AgentStage();
    stage.engine.described = description({ ranks: [rank0, rank1], events: { ranks: [rankEndpoints(0), rankEndpoints(1)], topic: '' } });
    await started(stage);
    for (const rank of [rank0, rank1]) [clear(0), page(1, 7)].forEach((batch) => stage.events.listener?.batch(rank, batch));
    stage.events.listener?.batch(rank1, clear(2));
    expect(stage.control?.snapshot(rank0)?.runs.length).toBe(1);
    expect(stage.control?.snapshot(rank1)?.runs).toEqual([]);
    expect(stage.control?.snapshot(parseDpRank(3))).toBeNull();
  });

  it('a snapshot is true after the last batch that was published', async () => {
    const stage = new AgentStage();
    await started(stage);
    [clear(0), page(1, 7), page(2, 8)].forEach((batch) => stage.events.listener?.batch(rank0, batch));
    const last = stage.batches.at(-1)?.batch;
    expect(stage.control?.snapshot(rank0)).toMatchObject({ epoch: last?.epoch, seq: last?.seq, partial: false });
  });

  it('are counted in the loads, as blocks', async () => {
    const stage = new AgentStage();
    stage.engine.loadsNow = [{ rank: rank0, runningRequests: 3, ...idle }];
    await started(stage);
    [clear(0), page(1, 7)].forEach((batch) => stage.events.listener?.batch(rank0, batch));
    await stage.clock.advance(500);
    await settle();
    expect(stage.loads.at(-1)).toEqual({ id: { worker: 'w1', rank: 0 }, runningRequests: 3, ...idle, heldBlocks: 1 });
  });
});

describe('requests', () => {
  const pageful = { ...engineRequest(), body: new Uint8Array(4_096) };

  it('E19: for 10 s without a KV event are told loudly, once', async () => {
    const stage = new AgentStage();
    await started(stage);
    for (let second = 0; second <= 12; second++) {
      await stage.request(pageful, rank0, never);
      await stage.clock.advance(1_000);
    }
    expect(stage.logged.filter((event) => event === 'engine-sends-no-kv-events').length).toBe(1);
  });

  it('with one KV event are under no suspicion', async () => {
    const stage = new AgentStage();
    await started(stage);
    stage.events.listener?.batch(rank0, clear(0));
    for (let second = 0; second <= 12; second++) {
      await stage.request(pageful, rank0, never);
      await stage.clock.advance(1_000);
    }
    expect(stage.logged).not.toContain('engine-sends-no-kv-events');
  });

  it('that fill no page, or that the engine refuses, bring no event and no suspicion', async () => {
    const stage = new AgentStage();
    await started(stage);
    const short = { ...engineRequest(), body: new Uint8Array(10) };
    for (let second = 0; second <= 12; second++) {
      stage.engine.answer = async () => ({ status: second % 2 === 0 ? 200 : 400, headers: [], body: bodyOf() });
      await stage.request(second % 2 === 0 ? short : pageful, rank0, never);
      await stage.clock.advance(1_000);
    }
    expect(stage.logged).not.toContain('engine-sends-no-kv-events');
  });

  it('go to the engine, and the answer comes back in its pieces', async () => {
    const stage = new AgentStage();
    stage.engine.answer = async () => ({ status: 206, headers: [['x-a', 'b']], body: bodyOf(bytesOf('one '), bytesOf('two')) });
    await started(stage);
    expect(await stage.request(engineRequest(), rank0, never)).toMatchObject({ status: 206, text: 'one two', ended: true });
  });

  it('to one of several ranks name it in the header that both engines read', async () => {
    const stage = new AgentStage();
    stage.engine.described = description({ ranks: [rank0, rank1], events: { why: 'none' } });
    await started(stage);
    await stage.request(engineRequest({ headers: [['x-data-parallel-rank', '0']] }), rank1, never);
    expect(stage.engine.sent[0]?.headers).toEqual([['x-data-parallel-rank', '1']]);
  });

  it('end with their deadline', async () => {
    const stage = new AgentStage();
    stage.engine.answer = (_request, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    await started(stage);
    const answered = codeOf(stage.request(engineRequest({ deadlineMs: 2_000 }), rank0, never));
    await stage.clock.advance(2_000);
    expect(await answered).toBe('deadline-exceeded');
  });

  it('that are cancelled are cancelled at the engine', async () => {
    const stage = new AgentStage();
    const stop = new AbortController();
    stage.engine.answer = (_request, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    await started(stage);
    const answered = codeOf(stage.request(engineRequest(), rank0, stop.signal));
    stop.abort(new RouterError('cancelled', 'client is gone'));
    expect(await answered).toBe('cancelled');
  });

  it('that have ended make the loads be told soon', async () => {
    const stage = new AgentStage();
    await started(stage);
    const before = stage.loads.length;
    await stage.request(engineRequest(), rank0, never);
    await stage.clock.advance(50);
    await settle();
    expect(stage.loads.length).toBe(before + 1);
  });
});

describe('control', () => {
  it("tokenizes with the engine's own route", async () => {
    const stage = new AgentStage();
    stage.engine.answer = async () => ({ status: 200, headers: [], body: bodyOf(bytesOf('{"tokens":'), bytesOf('[1]}')) });
    await started(stage);
    expect(await stage.control?.tokenize(bytesOf('{"prompt":"x"}'), never)).toEqual(bytesOf('{"tokens":[1]}'));
    expect(stage.engine.sent[0]).toMatchObject({ method: 'POST', path: '/tokenize' });
  });

  it('drains and goes on', async () => {
    const stage = new AgentStage();
    await started(stage);
    stage.control?.drain(true);
    await settle();
    expect(stage.registration?.draining).toBe(true);
    stage.control?.drain(false);
    await settle();
    expect(stage.registration?.draining).toBe(false);
  });
});

describe('an engine that goes', () => {
  async function lose(stage: AgentStage): Promise<void> {
    stage.engine.gone = true;
    for (let period = 0; period < 2; period++) {
      await stage.clock.advance(500);
      await settle();
    }
  }

  it('is not registered any more, and nothing is served for it', async () => {
    const stage = new AgentStage();
    const agent = await started(stage);
    await lose(stage);
    expect([agent.state, stage.registration, stage.handler, stage.events.listener]).toEqual(['engine-gone', null, null, null]);
  });

  it('R13: and comes back is described anew, as a new life that holds nothing of the old one', async () => {
    const stage = new AgentStage();
    const agent = await started(stage);
    const firstLife = stage.registration?.life;
    [clear(0), page(1, 7)].forEach((batch) => stage.events.listener?.batch(rank0, batch));
    await lose(stage);
    stage.engine.gone = false;
    stage.engine.described = description({ version: '0.5.24' });
    await stage.clock.advance(500);
    await settle();
    expect(agent.state).toBe('serving');
    expect(stage.registration).toMatchObject({ engineVersion: '0.5.24', draining: false });
    expect(stage.registration?.life).not.toBe(firstLife);
    expect(stage.control?.snapshot(rank0)).toMatchObject({ runs: [] });
    expect(stage.batches.at(-1)?.batch).toMatchObject({ seq: 0, events: [{ kind: 'cleared' }] });
  });

  it('stays away while it is still gone', async () => {
    const stage = new AgentStage();
    const agent = await started(stage);
    await lose(stage);
    await stage.clock.advance(500);
    await settle();
    expect([agent.state, stage.registration]).toEqual(['engine-gone', null]);
  });

  it('for one refused connection alone is not gone', async () => {
    const stage = new AgentStage();
    const agent = await started(stage);
    stage.engine.gone = true;
    await stage.clock.advance(500);
    await settle();
    stage.engine.gone = false;
    await stage.clock.advance(500);
    await settle();
    stage.engine.gone = true;
    await stage.clock.advance(500);
    await settle();
    expect(agent.state).toBe('serving');
  });

  it('for answering late is not gone: its loads are unknown, not zero', async () => {
    const stage = new AgentStage();
    stage.engine.loadsNow = [{ rank: rank0, runningRequests: 3, ...idle }];
    const agent = await started(stage);
    stage.engine.silent = true;
    for (const ms of [500, 2_000]) {
      await stage.clock.advance(ms);
      await settle();
    }
    expect(agent.state).toBe('serving');
    expect(stage.loads.at(-1)).toMatchObject({ runningRequests: null, usedTokens: null, capacityTokens: null });
  });
});

it('an engine that never answers is gone after eight reports', async () => {
  const stage = new AgentStage();
  const agent = await started(stage);
  stage.engine.silent = true;
  await stage.clock.advance(7 * 2_500);
  expect(agent.state).toBe('serving');
  await stage.clock.advance(2_500);
  expect(agent.state).toBe('engine-gone');
});

describe('an agent closing', () => {
  it('tells routers, lets requests end, and is gone', async () => {
    const stage = new AgentStage();
    const agent = await started(stage);
    stage.did.length = 0;
    await agent.close(never);
    expect(stage.did).toEqual(['register draining', 'deregister', 'let-end']);
    expect([agent.state, stage.control, stage.events.listener]).toEqual(['stopped', null, null]);
    stage.loads.length = 0;
    await stage.clock.advance(10_000);
    await settle();
    expect(stage.loads).toEqual([]);
  });

  it('while its engine is gone looks for it no more', async () => {
    const stage = new AgentStage();
    const agent = await started(stage);
    stage.engine.gone = true;
    for (let period = 0; period < 2; period++) {
      await stage.clock.advance(500);
      await settle();
    }
    await agent.close(never);
    stage.engine.gone = false;
    await stage.clock.advance(10_000);
    await settle();
    expect([agent.state, stage.registration]).toEqual(['stopped', null]);
  });
});
