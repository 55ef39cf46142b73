import type { Buffer } from 'node:buffer';

/** One member of a JSON text's outermost object: its key, and where its value lies in the text's bytes. */
export interface JsonMember {
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

const quote = 0x22;
const backslash = 0x5c;
const openers: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const closers: ReadonlySet<number> = new Set([0x7d, 0x5d]);
const comma = 0x2c;
const colon = 0x3a;

/**
 * The members of the outermost object, in order. Bodies are edited by these spans and never written anew, since
 * `JSON.parse` would round 64-bit numbers. The text must have been parsed once: nothing here notices bad JSON.
 */
export function jsonMembers(text: Buffer): readonly JsonMember[] {
  const members: JsonMember[] = [];
  let depth = 0;
  let key: string | null = null;
  let start = -1;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0;
    const ends = depth === 1 && key !== null && start >= 0 && (byte === comma || closers.has(byte));
    if (ends && key !== null) {
      members.push({ key, start, end: at });
      key = null;
      start = -1;
    }
    if (openers.has(byte)) depth++;
    else if (closers.has(byte)) depth--;
    else if (depth === 1 && byte === colon && key !== null && start < 0) start = at + 1;
    else if (byte === quote) {
      const end = endOfString(text, at);
      if (depth === 1 && key === null) key = stringAt(text, at, end);
      at = end;
    }
  }
  return members;
}

/** The place of the closing quote of the string that opens at `start`. */
function endOfString(text: Buffer, start: number): number {
  let at = text.indexOf(quote, start + 1);
  while (at >= 0 && escaped(text, at)) at = text.indexOf(quote, at + 1);
  return at < 0 ? text.length : at;
}

function escaped(text: Buffer, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === backslash) backslashes++;
  return backslashes % 2 === 1;
}

function stringAt(text: Buffer, start: number, end: number): string {
  const value: unknown = JSON.parse(text.toString('utf8', start, end + 1));
  return String(value);
}
