import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rates8bOnH100 } from '../../../src/core/engine-model/step-timing.ts';
import { cachedById, modelOf, promptTokens, requestOf, runToEnd, vocabulary } from './model-fixture.ts';

describe('the engine model', () => {
  it('answers one prompt with the same tokens whatever runs beside it', () => {
    const alone = modelOf();
    alone.submit(requestOf('a', promptTokens(1, 100), { maxNewTokens: 30 }));
    const expected = runToEnd(alone).produced.map(({ token }) => token);
    const busy = modelOf({ chunkTokens: 64 });
    for (let i = 0; i < 5; i++) busy.submit(requestOf(`other-${i}`, promptTokens(10 + i, 200), { maxNewTokens: 10 }));
    busy.submit(requestOf('a', promptTokens(1, 100), { maxNewTokens: 30 }));
    expect(runToEnd(busy).produced.filter(({ id }) => id === 'a').map(({ token }) => token)).toEqual(expected);
    expect(expected).toHaveLength(30);
    expect(expected.every((token) => token >= vocabulary.wordBase && token < vocabulary.vocabSize)).toBe(true);
  });

  it('goes on with an answer from the tokens that a prompt already holds of it', () => {
    const first = modelOf();
    first.submit(requestOf('a', promptTokens(1, 50), { maxNewTokens: 20 }));
    const tokens = runToEnd(first).produced.map(({ token }) => token);
    const second = modelOf();
    second.submit(requestOf('b', [...promptTokens(1, 50), ...tokens.slice(0, 8)], { maxNewTokens: 12 }));
    expect(runToEnd(second).produced.map(({ token }) => token)).toEqual(tokens.slice(8));
  });

  it('gives all of a batch their first token at its end', () => {
    const model = modelOf();
    model.submit(requestOf('a', promptTokens(1, 100)));
    model.submit(requestOf('b', promptTokens(2, 1000)));
    model.startStep();
    expect(model.finishStep().produced.map(({ id, index }) => [id, index])).toEqual([['a', 0], ['b', 0]]);
  });

  it('counts whole pages against the chunk', () => {
    const model = modelOf({ chunkTokens: 64 });
    for (const id of ['a', 'b', 'c']) model.submit(requestOf(id, promptTokens(id.charCodeAt(0), 17)));
    expect(model.startStep()?.started).toEqual(['a', 'b']);
    model.finishStep();
    expect(model.startStep()?.started).toEqual(['c']);
  });

  it('computes a waiting prompt before it goes on with answers', () => {
    const model = modelOf();
    model.submit(requestOf('a', promptTokens(1, 100), { maxNewTokens: 10 }));
    model.startStep();
    model.finishStep();
    model.submit(requestOf('b', promptTokens(2, 100), { maxNewTokens: 10 }));
    model.startStep();
    expect(model.finishStep()).toMatchObject({ kind: 'prefill', produced: [{ id: 'b' }] });
    model.startStep();
    expect(model.finishStep().produced.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('takes for a prefill step and a decode step what the rates say', () => {
    const { prefillStepMs, prefillTokenMs, prefillPairMs, decodeStepMs, decodeSequenceMs, decodeContextMs } = rates8bOnH100;
    const model = modelOf();
    model.submit(requestOf('a', promptTokens(1, 1000)));
    expect(model.startStep()?.durationMs).toBeCloseTo(prefillStepMs + 1000 * prefillTokenMs + prefillPairMs * 1000 * 500, 9);
    model.finishStep();
    expect(model.startStep()?.durationMs).toBeCloseTo(decodeStepMs + decodeSequenceMs + 1001 * decodeContextMs, 9);
  });

  it('reuses at most the whole pages before the last token', () => {
    const model = modelOf();
    for (const id of ['a', 'b']) {
      model.submit(requestOf(id, promptTokens(1, 64)));
      runToEnd(model);
    }
    model.submit(requestOf('c', promptTokens(1, 64)));
    model.submit(requestOf('d', promptTokens(1, 65)));
    const cached = cachedById(runToEnd(model));
    expect(cached.get('c')).toBe(48);
    expect(cached.get('d')).toBe(64);
  });

  it('stores an answer at its end, but never its last token', () => {
    const model = modelOf({ pageSize: 1 });
    model.submit(requestOf('a', promptTokens(1, 10), { maxNewTokens: 5 }));
    const { produced } = runToEnd(model);
    model.submit(requestOf('b', [...promptTokens(1, 10), ...produced.map(({ token }) => token), 7], { maxNewTokens: 1 }));
    expect(cachedById(runToEnd(model)).get('b')).toBe(14);
  });

  it('ends an answer by a stop token, by its length, and after a prompt alone when none is asked for', () => {
    const model = modelOf();
    model.submit(requestOf('a', promptTokens(1, 20), { maxNewTokens: 3 }));
    const tokens = runToEnd(model).produced.map(({ token }) => token);
    model.submit(requestOf('b', promptTokens(1, 20), { maxNewTokens: 3, ignoreEnd: false, stopTokens: new Set(tokens.slice(1, 2)) }));
    model.submit(requestOf('c', promptTokens(1, 20), { maxNewTokens: 0 }));
    expect(runToEnd(model).finished.map(({ id, reason, completionTokens }) => [id, reason.kind, completionTokens])).toEqual([
      ['c', 'length', 0],
      ['b', 'stop', 2],
    ]);
  });

  it('lets an answer end by itself unless told to ignore that', () => {
    const model = modelOf();
    model.submit(requestOf('a', promptTokens(1, 20), { maxNewTokens: 5000, ignoreEnd: false }));
    const [finished] = runToEnd(model).finished;
    expect(finished).toMatchObject({ reason: { kind: 'stop', token: vocabulary.endToken } });
    expect(finished?.completionTokens).toBeLessThan(2000);
  });

  it('runs no more requests at once than it may', () => {
    const model = modelOf({ maxRunning: 2 });
    for (const id of ['a', 'b', 'c']) model.submit(requestOf(id, promptTokens(id.charCodeAt(0), 30), { maxNewTokens: 5 }));
    model.startStep();
    model.finishStep();
    expect(model.load()).toMatchObject({ runningRequests: 2, waitingRequests: 1 });
    expect(runToEnd(model).finished.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('lets nobody overtake the first in the queue when there is no room for it', () => {
    const model = modelOf({ kvTokens: 320 });
    model.submit(requestOf('a', promptTokens(1, 100), { maxNewTokens: 100 }));
    model.startStep();
    model.submit(requestOf('b', promptTokens(2, 150), { maxNewTokens: 20 }));
    model.submit(requestOf('c', promptTokens(3, 10), { maxNewTokens: 1 }));
    model.finishStep();
    model.startStep();
    expect(model.finishStep().kind).toBe('decode');
    expect(runToEnd(model).finished.map(({ id }) => id)).toEqual(['a', 'c', 'b']);
  });

  it('takes room back from the latest when answers outgrow what was counted, and computes it again', () => {
    const model = modelOf({ pageSize: 1, kvTokens: 12_000 });
    for (const id of ['a', 'b']) model.submit(requestOf(id, promptTokens(id.charCodeAt(0), 1000), { maxNewTokens: 6000 }));
    const { finished, produced } = runToEnd(model);
    expect(finished.map(({ id, completionTokens }) => [id, completionTokens])).toEqual([['a', 6000], ['b', 6000]]);
    expect(finished.find(({ id }) => id === 'b')?.retractions).toBe(1);
    expect(produced.filter(({ id }) => id === 'b').map(({ index }) => index)).toEqual(Array.from({ length: 6000 }, (_, i) => i));
    expect(model.counters.retractions).toBe(1);
  });

  it('refuses a prompt that could never be computed', () => {
    expect(() => modelOf({ kvTokens: 160 }).submit(requestOf('a', promptTokens(1, 200)))).toThrow(/200 tokens does not fit/);
  });

  it('keeps events of decoding until the 40th step, and tells what is left when it idles', () => {
    const model = modelOf();
    model.takeEvents();
    model.submit(requestOf('short', promptTokens(1, 16), { maxNewTokens: 20 }));
    model.submit(requestOf('long', promptTokens(2, 16), { maxNewTokens: 60 }));
    const told: number[] = [];
    for (let step = 0; model.startStep() !== null; step++) if (model.finishStep().events.length > 0) told.push(step);
    expect(told).toEqual([0, 40, 59]);
  });

  it('flushes only when it is idle', () => {
    const model = modelOf();
    model.submit(requestOf('a', promptTokens(1, 100)));
    expect(model.flush()).toBe(false);
    runToEnd(model);
    expect(model.flush()).toBe(true);
    expect(model.takeEvents().map(({ kind }) => kind)).toEqual(['cleared']);
    expect(model.cacheUsage.treeTokens).toBe(0);
  });
});

describe('an abort', () => {
  it('ends a waiting request at once', () => {
    const model = modelOf();
    model.submit(requestOf('a', promptTokens(1, 100)));
    expect(model.abort('a')).toMatchObject({ reason: { kind: 'abort', while: 'waiting' }, cachedTokens: null });
    expect(model.idle).toBe(true);
  });

  it('ends a request with the step that it is in, with what it had', () => {
    const model = modelOf({ chunkTokens: 64 });
    model.submit(requestOf('a', promptTokens(1, 100), { maxNewTokens: 50 }));
    model.startStep();
    expect(model.abort('a')).toBeNull();
    expect(model.finishStep().finished).toMatchObject([{ id: 'a', reason: { kind: 'abort', while: 'running' }, completionTokens: 0 }]);
    expect(model.idle).toBe(true);
  });

  it('ends a request between two steps at once, in prefill and in decode alike', () => {
    const model = modelOf({ chunkTokens: 64 });
    model.submit(requestOf('a', promptTokens(1, 100), { maxNewTokens: 50 }));
    model.startStep();
    model.finishStep();
    expect(model.abort('a')).toMatchObject({ id: 'a' });
    model.submit(requestOf('b', promptTokens(2, 10), { maxNewTokens: 50 }));
    model.startStep();
    model.finishStep();
    expect(model.abort('b')).toMatchObject({ id: 'b', completionTokens: 1 });
    expect(model.idle).toBe(true);
    expect(model.load().usedTokens).toBe(0);
  });

  it('of an unknown request changes nothing', () => {
    expect(modelOf().abort('nobody')).toBeNull();
  });

  it('at any time leaves nothing locked or held, and lets all others end', () => {
    const act = fc.oneof(fc.constant('step' as const), fc.constant('submit' as const), fc.nat(20));
    fc.assert(
      fc.property(fc.array(act, { maxLength: 80 }), fc.constantFrom(1, 4), (acts, pageSize) => {
        const model = modelOf({ pageSize, kvTokens: 400, chunkTokens: 32, maxRunning: 4 });
        const ended: string[] = [];
        let submitted = 0;
        let stepping = false;
        for (const what of acts) {
          if (what === 'submit') model.submit(requestOf(`r${submitted++}`, promptTokens(submitted % 3, 20 + 7 * (submitted % 9)), { maxNewTokens: 1 + (submitted % 90) }));
          else if (what === 'step' && stepping) {
            ended.push(...model.finishStep().finished.map(({ id }) => id));
            stepping = false;
          } else if (what === 'step') stepping = model.startStep() !== null;
          else ended.push(...[model.abort(`r${what}`)].flatMap((finished) => (finished === null ? [] : [finished.id])));
          const { treeTokens, heldTokens } = model.cacheUsage;
          expect(treeTokens + heldTokens).toBeLessThanOrEqual(400);
        }
        if (stepping) ended.push(...model.finishStep().finished.map(({ id }) => id));
        ended.push(...runToEnd(model).finished.map(({ id }) => id));
        expect([...ended].sort()).toEqual(Array.from({ length: submitted }, (_, i) => `r${i}`).sort());
        expect(model.load()).toEqual({ runningRequests: 0, waitingRequests: 0, waitingTokens: 0, waitingUncachedTokens: 0, usedTokens: 0 });
      }),
    );
  });
});
