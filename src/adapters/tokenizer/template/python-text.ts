/** Python's white space: unlike JavaScript's it has the separators 1C to 1F and 85, and not the byte order mark. */
const whiteSpace = new Set('\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000');

/** `str.strip`, `lstrip` and `rstrip`; null: white space goes. */
export function stripped(text: string, characters: string | null, ends: 'both' | 'left' | 'right' = 'both'): string {
  const gone = characters === null ? whiteSpace : new Set(characters);
  let start = 0;
  let end = text.length;
  if (ends !== 'right') while (start < end && gone.has(text.charAt(start))) start++;
  if (ends !== 'left') while (end > start && gone.has(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** `str.split` and `rsplit`; null: at runs of white space. `limit` below 0: as often as it goes. */
export function splitText(text: string, separator: string | null, limit: number, from: 'left' | 'right' = 'left'): readonly string[] {
  if (separator === '') throw new Error('the template splits at an empty text');
  if (separator === null) {
    if (limit >= 0) throw new Error('the template splits at white space with a limit');
    return words(text);
  }
  const parts = text.split(separator);
  if (limit < 0 || parts.length <= limit + 1) return parts;
  if (from === 'left') return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
  const kept = parts.length - limit;
  return [parts.slice(0, kept).join(separator), ...parts.slice(kept)];
}

function words(text: string): readonly string[] {
  const found: string[] = [];
  let word = '';
  for (const letter of text) {
    if (!whiteSpace.has(letter)) word += letter;
    else if (word !== '') {
      found.push(word);
      word = '';
    }
  }
  return word === '' ? found : [...found, word];
}

/** `str.replace`; `limit` below 0: all. */
export function replaced(text: string, old: string, by: string, limit: number): string {
  if (old === '') throw new Error('the template replaces an empty text');
  return limit < 0 ? text.split(old).join(by) : splitText(text, old, limit).join(by);
}

/** Python counts characters where JavaScript counts half pairs. */
const hasPairs = (text: string): boolean => /[\ud800-\udbff]/.test(text);

export const lengthOfText = (text: string): number => (hasPairs(text) ? Array.from(text).length : text.length);

export const charactersOf = (text: string): readonly string[] => (hasPairs(text) ? Array.from(text) : text.split(''));

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
