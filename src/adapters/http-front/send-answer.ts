import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Log } from '../../ports/log.ts';
import { messageOf } from '../../core/router-error.ts';
import type { RoutedAnswer } from '../../ports/request-router.ts';

/**
 * Passes an answer on byte for byte, at the client's pace. What breaks off without an end that the client can read (all
 * but an event stream) breaks the connection off too, so that half an answer is not taken for a whole one.
 */
export async function sendAnswer(reply: FastifyReply, answer: RoutedAnswer, { signal, log }: { readonly signal: AbortSignal; readonly log: Log }): Promise<void> {
  reply.hijack();
  const raw = reply.raw;
  try {
    writeHead(reply, answer);
    for await (const piece of answer.body) {
      if (!raw.write(piece)) await drained(raw, signal);
    }
    raw.end();
    await once(raw, 'finish', { signal });
  } catch (error) {
    if (!signal.aborted) log.warn({ requestId: reply.request.id, error: messageOf(error) }, 'answer-broke-off');
    raw.destroy();
  }
}

function writeHead(reply: FastifyReply, { status, headers }: RoutedAnswer): void {
  const raw = reply.raw;
  raw.statusCode = status;
  for (const [name, values] of grouped(headers)) raw.setHeader(name, values);
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  raw.flushHeaders();
}

/** A header that came twice goes on twice. */
function grouped(headers: RoutedAnswer['headers']): Map<string, string | string[]> {
  const groups = new Map<string, string | string[]>();
  for (const [name, value] of headers) {
    const before = groups.get(name);
    groups.set(name, before === undefined ? value : [before, value].flat());
  }
  return groups;
}

/** Until the client has read what was written. Throws when it is gone. */
async function drained(raw: ServerResponse, signal: AbortSignal): Promise<void> {
  await once(raw, 'drain', { signal });
}
