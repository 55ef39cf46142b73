import { isFields } from './event-fields.ts';
import type { EngineBatch } from '../../core/kv-stream/engine-event.ts';
import { RouterError } from '../../core/router-error.ts';
import { readPublished } from './event-frames.ts';

/** One published message of a recording. */
export interface RecordedMessage {
  readonly rank: number;
  /** Null where it is no batch; `reason` says why. */
  readonly batch: EngineBatch | null;
  readonly reason: string | null;
}

/**
 * Reads recordings of an event socket: a JSON object a line, `{"socket":"pub"|"pub-RANK","rank"?,"frames":[base64...]}`.
 * Rows of other sockets (replay, load) are skipped. Throws `bad-json` with the line's number.
 */
export function readRecording(text: string): RecordedMessage[] {
  const messages: RecordedMessage[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const row = parseRow(line, index + 1);
    const socketRank = /^pub(?:-(\d+))?$/.exec(row.socket);
    if (socketRank === null) continue;
    messages.push(toMessage(row, row.rank ?? Number(socketRank[1] ?? 0)));
  }
  return messages;
}

interface Row {
  readonly socket: string;
  readonly rank: number | null;
  readonly frames: readonly Uint8Array[];
}

function parseRow(line: string, number: number): Row {
  const value = parseJson(line);
  const { socket, frames, rank } = isFields(value) ? value : {};
  const texts = Array.isArray(frames) ? (frames as readonly unknown[]).filter((frame) => typeof frame === 'string') : [];
  if (typeof socket !== 'string' || texts.length === 0) throw new RouterError('bad-json', `line ${number} is no recorded message: expected {"socket":"pub","frames":["base64",...]}`);
  return { socket, rank: typeof rank === 'number' ? rank : null, frames: texts.map((frame) => Buffer.from(frame, 'base64')) };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    // Said by the caller, with the line's number.
    return null;
  }
}

function toMessage(row: Row, socketRank: number): RecordedMessage {
  const reading = readPublished(row.frames);
  if (reading.kind !== 'batch') return { rank: socketRank, batch: null, reason: reading.kind === 'invalid' ? reading.reason : 'end' };
  return { rank: row.rank ?? reading.batch.rank ?? socketRank, batch: reading.batch, reason: null };
}
