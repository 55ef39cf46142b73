const metric = /^sglang:evicted_tokens_total(?:\{[^}]*\})?\s+(\S+)/gm;

/** KV tokens that these engines have evicted so far, by their `/metrics`; null where one of them does not say. */
export async function evictedTokens(engineUrls: readonly string[], signal: AbortSignal): Promise<number | null> {
  const counts = await Promise.all(engineUrls.map((url) => evictedBy(url, signal)));
  return counts.reduce((sum: number | null, count) => (sum === null || count === null ? null : sum + count), 0);
}

async function evictedBy(url: string, signal: AbortSignal): Promise<number | null> {
  const response = await fetch(`${url}/metrics`, { signal });
  const found = [...(await response.text()).matchAll(metric)].map((match) => Number(match[1]));
  return found.length === 0 ? null : found.reduce((sum, count) => sum + count, 0);
}
