import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isNestedDeeper } from '../../../src/adapters/http-front/json-depth.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('how deep a JSON text is nested', () => {
  it('is that of its value, whatever its strings hold', () => {
    const key = fc.constantFrom('a', '[[', '"{', '\\"[', '\\');
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 5 }, key, fc.integer(), fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(key, tie('value'), { maxKeys: 3 })),
    }));
    fc.assert(
      fc.property(value, (each) => {
        const depth = depthOf(each);
        const text = bytes(JSON.stringify(each));
        expect([isNestedDeeper(text, depth), depth > 0 && isNestedDeeper(text, depth - 1)]).toEqual([false, depth > 0]);
      }),
    );
  });

  it('is judged of text that is no JSON too', () => {
    expect(['"[[[', '\\', ']]]', ''].map((text) => isNestedDeeper(bytes(text), 1))).toEqual([false, false, false, false]);
  });
});
