import type { Trace } from './trace.ts';

/*
 * What all parts of a deployment together carry in real time in one process on two cores: measured by replaying 1,000
 * Mooncake rows at 20 times their speed, which took 47 s for 9.8 million prompt and 199,000 answer tokens. Somewhat
 * below that, so that waiting is the engines' and not the machine's.
 */
const promptTokensPerSecond = 150_000;
const answerTokensPerSecond = 3_000;
const leastSeconds = 60;

/** The factor by which a replay's arrivals can be hurried so that it takes about a minute, or what one machine carries; never below 1. */
export function replaySpeed(trace: Trace, maxOutputTokens: number): number {
  const promptTokens = trace.requests.reduce((sum, request) => sum + request.promptTokens, 0);
  const answerTokens = trace.requests.reduce((sum, request) => sum + Math.min(request.outputTokens, maxOutputTokens), 0);
  const seconds = Math.max(leastSeconds, promptTokens / promptTokensPerSecond, answerTokens / answerTokensPerSecond);
  const recordedSeconds = (trace.requests.at(-1)?.atMs ?? 0) / 1_000;
  return Math.max(1, Math.round((10 * recordedSeconds) / seconds) / 10);
}
