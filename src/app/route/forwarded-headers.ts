type Headers = readonly (readonly [string, string])[];

/** One connection's own (RFC 9110, 7.6.1), what is said anew for the next message, and the client's key for this router. */
const notForwarded: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'expect',
  'authorization',
]);

/** A client's headers as they go on to the engine; what `connection` names stays behind too. */
export function forwardedHeaders(headers: Headers): Headers {
  const named = headers.filter(([name]) => name === 'connection').flatMap(([, value]) => value.split(',').map((part) => part.trim().toLowerCase()));
  return headers.filter(([name]) => !notForwarded.has(name) && !named.includes(name));
}
