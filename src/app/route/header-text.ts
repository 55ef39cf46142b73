/** A header's bytes as text: HTTP gives each byte as one letter, and clients write UTF-8. What is no UTF-8 stays as it came. */
export function headerText(value: string): string {
  if (!/[\u0080-\u00ff]/.test(value)) return value;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(value, (letter) => letter.charCodeAt(0)));
  } catch {
    // Latin-1, which these letters are already.
    return value;
  }
}
