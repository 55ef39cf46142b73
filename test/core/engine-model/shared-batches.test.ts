import { describe, expect, it } from 'vitest';
import type { EngineModel } from '../../../src/core/engine-model/engine-model.ts';
import { cachedById, modelOf, promptTokens, requestOf, runToEnd } from './model-fixture.ts';

/*
 * What a burst of children shares on a real SGLang 0.5.23 (60,000 KV tokens, pages of 16): each has the prefix and 40
 * tokens of its own. Busy: two prompts of 3,500 tokens are being computed when the children arrive.
 */
const ownTokens = 40;

const childPrompt = (prefix: number, child: number): number[] => [...promptTokens(1, prefix), ...promptTokens(100 + child, ownTokens)];

function submitChildren(model: EngineModel, prefix: number, from: number, to: number): void {
  for (let child = from; child < to; child++) model.submit(requestOf(`child-${child}`, childPrompt(prefix, child)));
}

function childrenCached(model: EngineModel): (number | null)[] {
  const cached = cachedById(runToEnd(model));
  return [...cached].filter(([id]) => id.startsWith('child-')).map(([, tokens]) => tokens).sort((a, b) => (a ?? 0) - (b ?? 0));
}

interface Burst {
  readonly chunkTokens: number;
  readonly prefix: number;
  readonly children: number;
  /** How many arrive before the first step begins; the others come while it runs. */
  readonly before: number;
}

function idleBurst({ chunkTokens, prefix, children, before }: Burst): (number | null)[] {
  const model = modelOf({ chunkTokens });
  submitChildren(model, prefix, 0, before);
  model.startStep();
  submitChildren(model, prefix, before, children);
  model.finishStep();
  return childrenCached(model);
}

/** `together`: both long prompts are there when the first step begins; else the second comes while it runs. */
function busyBurst({ chunkTokens, prefix, children, together }: Omit<Burst, 'before'> & { readonly together: boolean }): (number | null)[] {
  const model = modelOf({ chunkTokens });
  model.submit(requestOf('long-0', promptTokens(50, 3500)));
  if (together) model.submit(requestOf('long-1', promptTokens(51, 3500)));
  model.startStep();
  if (!together) model.submit(requestOf('long-1', promptTokens(51, 3500)));
  submitChildren(model, prefix, 0, children);
  model.finishStep();
  return childrenCached(model);
}

describe('sharing between the children of a burst, as measured on a real server', () => {
  it('idle, chunk 4096, prefix 2048, 4 children: the first computes it while the others arrive', () => {
    expect(idleBurst({ chunkTokens: 4096, prefix: 2048, children: 4, before: 1 })).toEqual([0, 2048, 2048, 2048]);
  });

  it('idle, chunk 4096, prefix 2048, 4 children: two compute it when both are in the first batch', () => {
    expect(idleBurst({ chunkTokens: 4096, prefix: 2048, children: 4, before: 2 })).toEqual([0, 0, 2048, 2048]);
  });

  it('idle, chunk 512, prefix 2048, 4 children: one prefix, though it takes five batches', () => {
    expect(idleBurst({ chunkTokens: 512, prefix: 2048, children: 4, before: 1 })).toEqual([0, 2048, 2048, 2048]);
  });

  it('busy, chunk 512, prefix 2048, 8 children: the second reuses what the leader had finished when it began', () => {
    const expected = [0, 1696, 2048, 2048, 2048, 2048, 2048, 2048];
    expect(busyBurst({ chunkTokens: 512, prefix: 2048, children: 8, together: true })).toEqual(expected);
    expect(busyBurst({ chunkTokens: 512, prefix: 2048, children: 8, together: false })).toEqual(expected);
  });

  it('busy, chunk 4096, prefix 2048, 8 children: two begin from the leader’s 592 tokens', () => {
    expect(busyBurst({ chunkTokens: 4096, prefix: 2048, children: 8, together: false })).toEqual([0, 592, 592, 2048, 2048, 2048, 2048, 2048]);
  });

  it('busy, chunk 4096, prefix 2048, 8 children: four begin from 1184 tokens where the long prompts share a batch', () => {
    expect(busyBurst({ chunkTokens: 4096, prefix: 2048, children: 8, together: true })).toEqual([0, 1184, 1184, 1184, 1184, 2048, 2048, 2048]);
  });

  it('busy, chunk 4096, prefix 256, 8 children: a short prefix is computed as often as it fits into one batch', () => {
    const cached = busyBurst({ chunkTokens: 4096, prefix: 256, children: 8, together: false });
    const cold = cached.filter((tokens) => tokens === 0).length;
    expect(cold).toBeGreaterThanOrEqual(2);
    expect(cold).toBeLessThanOrEqual(4);
    expect(cached.filter((tokens) => tokens === 256)).toHaveLength(8 - cold);
  });

  it('busy, chunk 512, prefix 256, 8 children: three reuse the leader’s first 160 tokens', () => {
    expect(busyBurst({ chunkTokens: 512, prefix: 256, children: 8, together: true })).toEqual([0, 160, 160, 160, 256, 256, 256, 256]);
  });
});
