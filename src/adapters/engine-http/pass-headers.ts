/** RFC 9110 section 7.6.1: these belong to one connection. The rest of a message is not ours to change. */
const hopByHop: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade']);
/** Said anew by the client for the message it sends: the agent may have edited the body. */
const saidAnew: ReadonlySet<string> = new Set(['host', 'content-length', 'expect']);

type HeaderPairs = readonly (readonly [string, string])[];

/** A request's headers as the engine gets them; the agent's key for the engine replaces a client's. */
export function requestHeaders(headers: HeaderPairs, apiKey: string | null): string[] {
  const passed = headers.filter(([name]) => !hopByHop.has(name.toLowerCase()) && !saidAnew.has(name.toLowerCase()));
  const own: HeaderPairs = apiKey === null ? passed : [...passed.filter(([name]) => name.toLowerCase() !== 'authorization'), ['authorization', `Bearer ${apiKey}`]];
  return own.flat();
}

/** An engine's headers as they go on, lower-case names, in order; a header that came twice goes on twice. */
export function responseHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    if (hopByHop.has(name.toLowerCase()) || value === undefined) return [];
    const values = typeof value === 'string' ? [value] : value;
    return values.map((each) => [name.toLowerCase(), each]);
  });
}
