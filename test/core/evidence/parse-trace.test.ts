import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseTrace } from '../../../src/core/evidence/parse-trace.ts';
import type { Trace } from '../../../src/core/evidence/trace.ts';
import { tracePrompt } from '../../../src/core/evidence/trace-prompt.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';

const row = (fields: object): string => JSON.stringify({ timestamp: 0, input_length: 600, output_length: 5, hash_ids: [1, 2], ...fields });

const dynamo = (hashes: string, extra: object = {}): string =>
  JSON.stringify({
    schema: 'dynamo.request.trace.v1',
    event_type: 'request_end',
    event_time_unix_ms: 1_700_000_000_900,
    request: { request_id: 'r', request_received_ms: 1_700_000_000_000, output_tokens: 7, replay: { trace_block_size: 4, input_length: 6, input_sequence_hashes: ['HASHES'] } },
    ...extra,
  }).replace('"HASHES"', hashes);

const sessionsOf = (trace: Trace): Map<string | null, string | null> => new Map(trace.requests.map((request) => [request.session, request.parent]));

describe('Mooncake rows', () => {
  it('become requests by arrival, from 0 ms on', () => {
    const trace = parseTrace(`${row({ timestamp: 900 })}\n\n${row({ timestamp: 400, input_length: 700 })}\n`, 'm');
    expect(trace.format).toBe('mooncake');
    expect(trace.requests.map(({ atMs, promptTokens }) => [atMs, promptTokens])).toEqual([[0, 700], [500, 600]]);
  });

  it('with a bad line are refused with its number', () => {
    expect(() => parseTrace(`${row({})}\n{"timestamp": 1`, 'm')).toThrow('trace line 2: is no JSON');
    expect(() => parseTrace(`${row({})}\n\n${row({ input_length: 'many' })}`, 'm')).toThrow('trace line 3: input_length must be a number of at least 1, is "many"');
    expect(() => parseTrace(row({ hash_ids: undefined, output_length: 2 }).replace('"output_length"', '"hash_ids":7,"output_length"'), 'm')).toThrow('hash_ids must be a list, is 7');
  });

  it('with more blocks than the prompt has are refused with the block size flag', () => {
    expect(() => parseTrace(row({ hash_ids: [1, 2, 3] }), 'm')).toThrow(/line 1: hash_ids has 3 blocks, a prompt of 600 tokens has 2 of 512.*--trace-block-size/);
    expect(parseTrace(row({ hash_ids: [1, 2, 3] }), 'm', 256).blockTokens).toBe(256);
  });
});

describe('a Claude Code tree', () => {
  const tree = {
    id: 'trace_x', block_size: 64,
    requests: [
      { t: 0, type: 'n', in: 130, out: 3, hash_ids: [1, 2] },
      { t: 10, type: 'subagent', agent_id: 'a1', requests: [{ t: 2.5, type: 'n', in: 64, out: 1, hash_ids: [9] }] },
      { t: 11, type: 'n', in: 200, out: 3, hash_ids: [1, 2, 3] },
    ],
  };

  it('gives each subagent a session whose parent is the one it is nested in, its times counted from its entry', () => {
    const trace = parseTrace(JSON.stringify(tree, null, 1), 'x');
    expect(trace.requests.map(({ atMs, session, parent }) => [atMs, session, parent])).toEqual([
      [0, 'trace_x', null],
      [11_000, 'trace_x', null],
      [12_500, 'trace_x/a1', 'trace_x'],
    ]);
  });

  it('adds up the entry times of subagents inside subagents', () => {
    const inner = { t: 3, type: 'subagent', agent_id: 'b', requests: [{ t: 1, type: 'n', in: 64, out: 1, hash_ids: [7] }] };
    const nested = { ...tree, requests: [tree.requests[0], { t: 10, type: 'subagent', agent_id: 'a', requests: [inner] }] };
    expect(parseTrace(JSON.stringify(nested), 'x').requests.at(-1)).toMatchObject({ atMs: 14_000, session: 'trace_x/a/b', parent: 'trace_x/a' });
  });

  it('with a bad request is refused with its place', () => {
    const bad = { ...tree, requests: [...tree.requests, { t: 1, type: 'subagent', agent_id: 'a2', requests: [{ t: 0, in: -4, out: 1, hash_ids: [] }] }] };
    expect(() => parseTrace(JSON.stringify(bad), 'x')).toThrow('trace request 1 of trace_x/a2: in must be a number of at least 1, is -4');
  });
});

describe("Dynamo's request trace", () => {
  it('keeps 64-bit hashes apart that differ in their last digit only', () => {
    const trace = parseTrace(`${dynamo('11400714819323198485, 11400714819323198486')}\n`, 'd');
    expect(trace.requests[0]?.blockIds).toEqual(['11400714819323198485', '11400714819323198486']);
  });

  it('is read through the envelope of its sinks, sessions and parents included, other records passed over', () => {
    const context = { agent_context: { session_id: 'child', parent_session_id: 'root' } };
    const lines = [dynamo('1,2', context), '{"schema":"dynamo.request.trace.v1","event_type":"tool_end"}'].map((line) => `{"timestamp":1,"event":${line}}`);
    const trace = parseTrace(lines.join('\n'), 'd');
    expect(trace.blockTokens).toBe(4);
    expect(trace.requests).toEqual([{ atMs: 0, session: 'child', parent: 'root', promptTokens: 6, outputTokens: 7, blockIds: ['1', '2'] }]);
  });

  it('without replay metadata is refused with what to record', () => {
    const bare = '{"schema":"dynamo.request.trace.v1","event_type":"request_end","request":{"request_id":"r"}}';
    expect(() => parseTrace(bare, 'd')).toThrow('trace line 1: has no request.replay: record the trace with replay metadata');
  });
});

describe('a file of no known format', () => {
  it('is refused with what the known ones look like', () => {
    expect(() => parseTrace('{"hello":1}', 'f')).toThrow(/line 1: is of no known format: Mooncake rows have input_length/);
    expect(() => parseTrace('', 'f')).toThrow('trace f: is empty');
    expect(() => parseTrace('[1,2]', 'f')).toThrow('trace line 1: is no JSON object');
  });
});

describe('prompts', () => {
  it('of equal block ids have equal tokens, of other ids others, and tokens that no id names are the request\'s own', () => {
    const trace = parseTrace([row({ hash_ids: [1, 2] }), row({ hash_ids: [1, 3] }), row({ hash_ids: [1] }), row({ hash_ids: [1] })].join('\n'), 'p');
    const [a, b, c, d] = [0, 1, 2, 3].map((index) => tracePrompt(trace, index));
    expect(a?.length).toBe(600);
    expect(a?.slice(0, 512)).toEqual(b?.slice(0, 512));
    expect(a?.slice(512)).not.toEqual(b?.slice(512));
    expect(c?.slice(0, 512)).toEqual(a?.slice(0, 512));
    expect(c?.slice(512)).not.toEqual(a?.slice(512));
    expect(c?.slice(512)).not.toEqual(d?.slice(512));
  });

  it('of two traces share nothing', () => {
    const [a, b] = ['a', 'b'].map((name) => tracePrompt(parseTrace(row({}), name), 0));
    expect(a?.slice(0, 8)).not.toEqual(b?.slice(0, 8));
  });
});

describe.skipIf(!haveShared)('the recorded traces (shared data beside the checkout)', () => {
  const read = (...parts: string[]): Trace => parseTrace(readFileSync(sharedPath('traces', ...parts), 'utf8'), parts.at(-1) ?? '');

  it('mooncake_trace_1000.jsonl has its 1,000 requests and 9.8 million prompt tokens', () => {
    const trace = read('mooncake', 'mooncake_trace_1000.jsonl');
    expect(trace.requests.length).toBe(1_000);
    expect(trace.requests.reduce((sum, request) => sum + request.promptTokens, 0)).toBe(9_792_030);
    expect(trace.requests.at(-1)?.atMs).toBe(177_098);
  });

  it.each([
    ['trace_0057.json', 8, 1], ['trace_0103.json', 3, 1], ['trace_0165.json', 7, 1],
    ['trace_0277.json', 53, 5], ['trace_0279.json', 90, 3], ['trace_0282.json', 103, 4], ['trace_0291.json', 32, 3],
  ])('%s has %i requests of %i sessions, all but one with the root as parent', (file, requests, sessions) => {
    const trace = read('claude-code', file);
    expect(trace.requests.length).toBe(requests);
    const tree = sessionsOf(trace);
    expect(tree.size).toBe(sessions);
    const root = [...tree].find(([, parent]) => parent === null)?.[0];
    expect([...tree].filter(([, parent]) => parent === root).length).toBe(sessions - 1);
  });
});
