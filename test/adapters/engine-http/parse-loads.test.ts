import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isJsonObject, parseJsonObject } from '../../../src/adapters/engine-http/json-fields.ts';
import { parseGetLoad, parseSglangLoads, parseVllmLoads, unknownLoad } from '../../../src/adapters/engine-http/parse-loads.ts';
import { parseDpRank } from '../../../src/core/identity/ids.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';
import { recordedExchange } from './recorded-exchange.ts';

const [rank0, rank1] = [parseDpRank(0), parseDpRank(1)];
const jsonOf = (folder: string, name: string): Readonly<Record<string, unknown>> => parseJsonObject(recordedExchange(folder, name).body.toString()) ?? {};

describe.skipIf(!haveShared)('loads as real servers reported them (needs ../shared)', () => {
  it('SGLang 0.5.23 with a request running', () => {
    const [load] = parseSglangLoads(jsonOf('sglang/0.5.23/server-plain/http', 'loads-busy-later'), [rank0]);
    expect(load).toMatchObject({ rank: 0, runningRequests: 1, waitingRequests: 0, capacityTokens: 2048, maxRunningRequests: 8 });
  });

  it('SGLang with two ranks, each by itself', () => {
    const loads = parseSglangLoads(jsonOf('sglang/0.5.23/server-two-ranks/http', 'loads'), [rank0, rank1]);
    expect(loads.map((load) => [load.rank, load.runningRequests, load.capacityTokens])).toEqual([
      [0, 0, 2048],
      [1, 0, 2048],
    ]);
  });

  it('SGLang 0.5.9 by /get_load, where the one rank has no number', () => {
    const answer: unknown = JSON.parse(recordedExchange('sglang/0.5.9/server-page-1/http', 'get-load').body.toString());
    const reports = Array.isArray(answer) ? answer.filter(isJsonObject) : [];
    expect(parseGetLoad(reports, [rank0])).toEqual([{ ...unknownLoad(rank0), runningRequests: 0, waitingRequests: 0, usedTokens: 0 }]);
  });

  it('vLLM with a request running, by its metrics', () => {
    const metrics = readFileSync(sharedPath('fixtures', 'vllm', 'http', 'metrics-one-running.txt'), 'utf8');
    expect(parseVllmLoads(metrics, [rank0])).toEqual([{ ...unknownLoad(rank0), runningRequests: 1, waitingRequests: 0, usedTokens: 228, capacityTokens: 2048 }]);
  });
});

describe('loads that are not told', () => {
  it('a rank that is missing is unknown, not idle', () => {
    expect(parseSglangLoads({ loads: [{ dp_rank: 0, num_running_reqs: 3 }] }, [rank0, rank1])).toEqual([{ ...unknownLoad(rank0), runningRequests: 3 }, unknownLoad(rank1)]);
  });

  it('hostile figures are unknown', () => {
    expect(parseSglangLoads({ loads: [{ dp_rank: 0, num_running_reqs: -1, num_used_tokens: '5', max_running_requests: null }] }, [rank0])).toEqual([unknownLoad(rank0)]);
    expect(parseVllmLoads('vllm:num_requests_running{engine="0"} NaN\n', [rank0])).toEqual([unknownLoad(rank0)]);
  });
});
