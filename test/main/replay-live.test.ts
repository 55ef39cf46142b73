import { describe, expect, it } from 'vitest';
import { parseTrace } from '../../src/core/evidence/parse-trace.ts';
import { summarizeReplay } from '../../src/core/evidence/replay-summary.ts';
import { replayLive } from '../../src/main/replay-live.ts';
import { silentLog } from '../support/silent-log.ts';

const tree = JSON.stringify({
  id: 'tiny', block_size: 64,
  requests: [
    { t: 0, type: 'n', in: 650, out: 4, hash_ids: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
    { t: 1, type: 'n', in: 800, out: 4, hash_ids: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] },
    { t: 2, type: 'subagent', agent_id: 'a1', requests: [{ t: 0, type: 'n', in: 320, out: 4, hash_ids: [20, 21, 22, 23, 24] }] },
  ],
});

describe('a tiny trace on real parts', () => {
  it('is replayed without an error, its second turn finding the first one\'s blocks by the engine\'s word', async () => {
    const options = {
      speed: 10, maxOutputTokens: 16, maxConcurrency: 8, router: null, signal: new AbortController().signal,
      policy: { mode: 'affinity', parentAffinity: 'siblings' } as const, pool: { engines: 2, pageSize: 16, speed: 10 },
    };
    const requests = await replayLive(parseTrace(tree, 'tiny'), options, silentLog, () => {});
    const summary = summarizeReplay(requests.map(({ outcome }) => outcome));
    expect(summary).toMatchObject({ requests: 3, errors: 0, promptTokens: 650 + 800 + 320, cachedTokens: 640 });
    expect(summary.placementsByReason).toMatchObject({ 'bound-session': 1 });
  });
});
