const quote = 0x22;
const backslash = 0x5c;
const opens = (byte: number): boolean => byte === 0x7b || byte === 0x5b;
const closes = (byte: number): boolean => byte === 0x7d || byte === 0x5d;

/**
 * Whether brackets are nested deeper than `limit` in a JSON text. Looked at before it is parsed: whatever walks a value
 * afterwards would run out of stack, and millions of brackets alone hold a parser up for a second. Text that is no JSON
 * may be judged either way.
 */
export function isNestedDeeper(text: Uint8Array, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0;
    if (byte === quote) at = endOfString(text, at);
    else if (opens(byte)) depth += 1;
    else if (closes(byte)) depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}

/** The place of the quote that ends the string opened at `start`; the text's end where none does. */
function endOfString(text: Uint8Array, start: number): number {
  for (let end = text.indexOf(quote, start + 1); end >= 0; end = text.indexOf(quote, end + 1)) {
    if (!isEscaped(text, end)) return end;
  }
  return text.length;
}

function isEscaped(text: Uint8Array, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === backslash) backslashes += 1;
  return backslashes % 2 === 1;
}
