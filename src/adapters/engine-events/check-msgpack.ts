/** Bytes after the first one of values with a fixed size, by their first byte from 0xc0 to 0xd8. */
const fixedSizes: Readonly<Record<number, number>> = {
  0xc0: 0, 0xc2: 0, 0xc3: 0, 0xca: 4, 0xcb: 8, 0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8, 0xd0: 1, 0xd1: 2, 0xd2: 4, 0xd3: 8,
  0xd4: 2, 0xd5: 3, 0xd6: 5, 0xd7: 9, 0xd8: 17,
};

/** Width of the length that follows the first byte, and what is counted besides it. */
const counted: Readonly<Record<number, { readonly width: 1 | 2 | 4; readonly kind: 'bytes' | 'values'; readonly each: number }>> = {
  0xc4: { width: 1, kind: 'bytes', each: 1 }, 0xc5: { width: 2, kind: 'bytes', each: 1 }, 0xc6: { width: 4, kind: 'bytes', each: 1 },
  0xd9: { width: 1, kind: 'bytes', each: 1 }, 0xda: { width: 2, kind: 'bytes', each: 1 }, 0xdb: { width: 4, kind: 'bytes', each: 1 },
  0xdc: { width: 2, kind: 'values', each: 1 }, 0xdd: { width: 4, kind: 'values', each: 1 },
  0xde: { width: 2, kind: 'values', each: 2 }, 0xdf: { width: 4, kind: 'values', each: 2 },
};

/**
 * Whether bytes are one whole msgpack value. A decoder makes room for a list before it has read its members, so a few
 * bytes that claim long lists within lists would take all memory: of a value that is whole, every claim is covered by
 * bytes that are there.
 */
export function isSoundMsgpack(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Values still to come of each list that is open. */
  const open: number[] = [1];
  let at = 0;
  while (open.length > 0) {
    const last = open.length - 1;
    const left = open[last] ?? 0;
    if (left === 0) {
      open.pop();
      continue;
    }
    open[last] = left - 1;
    const step = at < bytes.length ? stepOver(view, at) : null;
    if (step === null) return false;
    at = step.next;
    if (step.values > 0) open.push(step.values);
  }
  return at === bytes.length;
}

interface Step {
  readonly next: number;
  /** Values inside this one, which follow. */
  readonly values: number;
}

function stepOver(view: DataView, at: number): Step | null {
  const first = view.getUint8(at);
  if (first <= 0x7f || first >= 0xe0) return { next: at + 1, values: 0 };
  if (first <= 0x8f) return { next: at + 1, values: 2 * (first & 0x0f) };
  if (first <= 0x9f) return { next: at + 1, values: first & 0x0f };
  if (first <= 0xbf) return { next: at + 1 + (first & 0x1f), values: 0 };
  const fixed = fixedSizes[first];
  if (fixed !== undefined) return { next: at + 1 + fixed, values: 0 };
  const form = counted[first];
  if (form === undefined || at + 1 + form.width > view.byteLength) return null;
  const count = form.width === 1 ? view.getUint8(at + 1) : form.width === 2 ? view.getUint16(at + 1) : view.getUint32(at + 1);
  const next = at + 1 + form.width;
  return form.kind === 'bytes' ? { next: next + count, values: 0 } : { next, values: form.each * count };
}
