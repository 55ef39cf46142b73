/** One server-sent event: its data lines joined, and its id where it has one. */
export interface SseEvent {
  readonly id: string | null;
  readonly data: string;
}

/** Cuts a byte stream into server-sent events, as they come. Comments and other fields are passed over. */
export async function* sseEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true }).replaceAll('\r\n', '\n');
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    for (const text of events) {
      const event = parseEvent(text);
      if (event !== null) yield event;
    }
  }
}

function parseEvent(text: string): SseEvent | null {
  const lines = text.split('\n');
  const field = (name: string): string[] =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ''));
  const data = field('data');
  return data.length === 0 ? null : { id: field('id').at(-1) ?? null, data: data.join('\n') };
}
