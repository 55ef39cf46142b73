import { isDictionary, isList } from './template-value.ts';
import type { TemplateValue } from './template-value.ts';

/** As Hugging Face's `tojson` writes: Python's `json.dumps` with every character as it is. `indent` null: on one line. */
export function toJson(value: TemplateValue, indent: number | null = null, depth = 0): string {
  if (isList(value)) return enclosed('[]', value.map((item) => toJson(item, indent, depth + 1)), { indent, depth });
  if (isDictionary(value)) {
    const entries = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${toJson(item, indent, depth + 1)}`);
    return enclosed('{}', entries, { indent, depth });
  }
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return JSON.stringify(value);
  throw new Error('the template writes something as JSON that is none');
}

function enclosed(brackets: '[]' | '{}', items: readonly string[], { indent, depth }: { readonly indent: number | null; readonly depth: number }): string {
  const [open, close] = [brackets.charAt(0), brackets.charAt(1)];
  if (items.length === 0 || indent === null) return open + items.join(', ') + close;
  const line = (level: number): string => `\n${' '.repeat(indent * level)}`;
  return open + line(depth + 1) + items.join(`,${line(depth + 1)}`) + line(depth) + close;
}
