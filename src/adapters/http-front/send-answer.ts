import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Log } from '../../ports/log.ts';
import { messageOf } from '../../core/router-error.ts';
import type { RoutedAnswer } from '../../ports/request-router.ts';

export interface SendOptions {
  /** The client is gone. */
  readonly gone: AbortSignal;
  /** A client that takes nothing for so long is given up: its request holds a place at an engine. */
  readonly readPatienceMs: number;
  readonly log: Log;
}

/**
 * Passes an answer on byte for byte, at the client's pace. What breaks off without an end that the client can read (all
 * but an event stream) breaks the connection off too, so that half an answer is not taken for a whole one.
 */
export async function sendAnswer(reply: FastifyReply, answer: RoutedAnswer, { gone, readPatienceMs, log }: SendOptions): Promise<void> {
  reply.hijack();
  const raw = reply.raw;
  try {
    writeHead(reply, answer);
    for await (const piece of answer.body) {
      if (!raw.write(piece)) await taken(raw, 'drain', { gone, readPatienceMs });
    }
    raw.end();
    await taken(raw, 'finish', { gone, readPatienceMs });
  } catch (error) {
    if (!gone.aborted) log.warn({ requestId: reply.request.id, error: messageOf(error) }, 'answer-broke-off');
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

/** Until the client has taken what was written. Throws when it is gone, or takes nothing any more. */
async function taken(raw: ServerResponse, event: 'drain' | 'finish', { gone, readPatienceMs }: Omit<SendOptions, 'log'>): Promise<void> {
  const patience = setTimeout(() => raw.destroy(), readPatienceMs);
  try {
    await once(raw, event, { signal: gone });
  } finally {
    clearTimeout(patience);
  }
}
