import { existsSync } from 'node:fs';
import { readTraceText } from '../src/adapters/trace-file/read-trace-text.ts';
import { parseTrace } from '../src/core/evidence/parse-trace.ts';
import { replaySpeed } from '../src/core/evidence/replay-speed.ts';
import { summarizeReplay, type ReplaySummary } from '../src/core/evidence/replay-summary.ts';
import type { LivePolicy, PlacementMode } from '../src/core/placement/placement.ts';
import { createLog } from '../src/main/create-log.ts';
import { replayLive } from '../src/main/replay-live.ts';
import { unendingSignal, type Bench, type BenchCell } from './bench.ts';

const traces = new URL('../../shared/traces/', import.meta.url);
const files = ['claude-code/trace_0291.json', 'mooncake/mooncake_trace_1000.jsonl'] as const;
const modes: readonly PlacementMode[] = ['round-robin', 'least-loaded', 'event', 'predicted', 'affinity'];
const maxOutputTokens = 256;

async function replayed(file: string, policy: LivePolicy): Promise<ReplaySummary> {
  const { name, text } = await readTraceText(new URL(file, traces).pathname);
  const trace = parseTrace(text, name, 512);
  const speed = replaySpeed(trace, maxOutputTokens);
  const options = { speed, maxOutputTokens, maxConcurrency: 256, policy, router: null, pool: { engines: 4, pageSize: 16, speed }, signal: unendingSignal() };
  const summary = summarizeReplay((await replayLive(trace, options, createLog('bench', 'warn'), () => undefined)).map(({ outcome }) => outcome));
  if (summary.errors > 0) throw new Error(`${file}, ${policy.mode}: ${summary.errors} requests failed`);
  return summary;
}

/** Each mode's figures beside round-robin's of the same run. */
function figures(file: string, mode: string, summary: ReplaySummary, base: ReplaySummary): BenchCell[] {
  const figure = (what: string, unit: string, ours: number, reference: number): BenchCell => ({ name: `${file}, ${mode}: ${what}`, ours, reference, ratio: ours / reference, unit });
  return [
    figure('computed prefill', 'tokens', summary.computedPrefillTokens, base.computedPrefillTokens),
    figure('TTFT p50', 'ms', summary.ttftMsP50 ?? Number.NaN, base.ttftMsP50 ?? Number.NaN),
    figure('TTFT p99', 'ms', summary.ttftMsP99 ?? Number.NaN, base.ttftMsP99 ?? Number.NaN),
  ];
}

export const bench: Bench = {
  about: 'a Claude Code tree and 1,000 Mooncake requests on four workers, each mode beside round-robin (about ten minutes)',
  async run(progress) {
    if (!existsSync(traces)) throw new Error(`the traces are expected in ${traces.pathname}: put them there`);
    const cells: BenchCell[] = [];
    for (const file of files) {
      let base: ReplaySummary | null = null;
      for (const mode of modes) {
        const summary = await replayed(file, { mode, parentAffinity: 'siblings' });
        base ??= summary;
        cells.push(...figures(file, mode, summary, base));
        progress(`${file} ${mode}: hit rate ${summary.hitRate.toFixed(3)}, TTFT p50 ${summary.ttftMsP50} p99 ${summary.ttftMsP99} ms`);
      }
    }
    return cells;
  },
};
