import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerReader, EventStreamReader, JsonReader } from '../../../src/app/route/answer-reader.ts';
import type { AnswerReader } from '../../../src/app/route/answer-reader.ts';
import { readFileSync } from 'node:fs';
import { haveShared, sharedPath } from '../../support/shared-data.ts';

const encoder = new TextEncoder();
const read = <Reader extends AnswerReader>(reader: Reader, ...parts: readonly string[]): Reader => {
  for (const part of parts) reader.push(encoder.encode(part));
  return reader;
};

describe('a stream that is looked at', () => {
  const stream = 'data: {"text":"ü","meta_info":{"prompt_tokens":7,"cached_tokens":4,"completion_tokens":1}}\n\ndata: {"text":"üb","meta_info":{"prompt_tokens":7,"cached_tokens":4,"completion_tokens":2}}\n\ndata: [DONE]\n\n';

  it('is read the same wherever it is cut, in the middle of a letter too', () => {
    const bytes = encoder.encode(stream);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
        const reader = new EventStreamReader();
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const events = places.slice(1).reduce((sum, end, index) => sum + reader.push(bytes.subarray(places[index], end)), 0);
        expect([events, reader.usage(), reader.betweenEvents]).toEqual([3, { promptTokens: 7, cachedTokens: 4, completionTokens: 2 }, true]);
      }),
    );
  });

  it('with carriage returns is read alike', () => {
    expect(read(new EventStreamReader(), stream.replaceAll('\n', '\r\n')).usage().completionTokens).toBe(2);
  });

  it('without usage is unknown, not zero', () => {
    expect(read(new EventStreamReader(), 'data: {"choices":[],"usage":null}\n\ndata: [DONE]\n\n').usage()).toEqual({ promptTokens: null, cachedTokens: null, completionTokens: null });
  });

  it('of several prompts tells of none of them', () => {
    expect(read(new EventStreamReader(), 'data: {"index":1,"meta_info":{"prompt_tokens":7}}\n\n').usage().promptTokens).toBe(null);
  });

  it('says an error, which a model that writes one does not', () => {
    expect(read(new EventStreamReader(), 'data: {"text":"{\\"error\\": 1}"}\n\n').sawError).toBe(false);
    expect(read(new EventStreamReader(), 'data: {"error":{"message":"x"}}\n\n').sawError).toBe(true);
  });

  it('in the middle of an event is not between two', () => {
    expect(read(new EventStreamReader(), 'data: {}\n').betweenEvents).toBe(false);
  });

  it('that ends in the middle of an event was cut off, one whose last empty line is missing was not', () => {
    const cutOff = (...parts: readonly string[]): boolean => read(new EventStreamReader(), ...parts).cutOff;
    expect([cutOff('data: {}\n\nda', 'ta: {'), cutOff('data: {"a":1}')]).toEqual([true, true]);
    expect([cutOff(), cutOff('data: {}\n\n'), cutOff('data: {}\n\n\n'), cutOff('data: {}\n\ndata: [DONE]\n')]).toEqual([false, false, false, false]);
  });

  it('of one event in a million pieces is looked at once a piece, not as a whole each time', () => {
    const reader = read(new EventStreamReader(), 'data: {"meta_info":{"prompt_tokens":5},"text":"');
    const letter = encoder.encode('x');
    for (let piece = 0; piece < 1_000_000; piece++) reader.push(letter);
    expect(read(reader, '"}\n', '\n').usage().promptTokens).toBe(5);
  });
});

describe('an answer that is no stream', () => {
  it('gives its usage, summed over several prompts', () => {
    expect(read(new JsonReader(), '{"usage":{"prompt_tokens":3,', '"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}').usage()).toEqual({ promptTokens: 3, cachedTokens: 1, completionTokens: 2 });
    expect(read(new JsonReader(), '[{"meta_info":{"prompt_tokens":3,"cached_tokens":0,"completion_tokens":1}},{"meta_info":{"prompt_tokens":4,"cached_tokens":2,"completion_tokens":1}}]').usage()).toEqual({ promptTokens: 7, cachedTokens: 2, completionTokens: 2 });
  });

  it('that can not be read has none', () => {
    expect(read(new JsonReader(), '{"usage":').usage().promptTokens).toBe(null);
  });
});

describe.skipIf(!haveShared)('what a real SGLang 0.5.23 answered (skipped without the recorded data)', () => {
  const recorded = (name: string): AnswerReader => {
    const { response } = JSON.parse(readFileSync(sharedPath('fixtures', 'sglang', '0.5.23', 'server-plain', 'http', `${name}.json`), 'utf8')) as { readonly response: { readonly headers: readonly [string, string][]; readonly bodyBase64: string } };
    const reader = answerReader(response.headers.map(([header, value]) => [header.toLowerCase(), value]));
    reader.push(Buffer.from(response.bodyBase64, 'base64'));
    return reader;
  };

  it.each(['generate-ids', 'generate-stream', 'chat', 'chat-stream-usage', 'completion-stream-usage', 'completion', 'generate-batch'])('%s: tokens are found', (name) => {
    const { promptTokens, cachedTokens, completionTokens } = recorded(name).usage();
    expect([promptTokens, cachedTokens, completionTokens].map((count) => typeof count)).toEqual(['number', 'number', 'number']);
  });

  it('chat-stream says nothing of its tokens; a refused stream says an error', () => {
    expect(recorded('chat-stream').usage().promptTokens).toBe(null);
    expect(recorded('generate-bad-temperature-stream').sawError).toBe(true);
  });
});
