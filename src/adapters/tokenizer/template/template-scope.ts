import { Namespace, TemplateFunction, textOf } from './template-value.ts';
import type { TemplateValue } from './template-value.ts';

/** The names that are seen at one place of a template. */
export class TemplateScope {
  readonly #names = new Map<string, TemplateValue>();
  readonly #outer: TemplateScope | null;

  constructor(outer: TemplateScope | null) {
    this.#outer = outer;
  }

  get(name: string): TemplateValue {
    const own = this.#names.get(name);
    return own === undefined && this.#outer !== null && !this.#names.has(name) ? this.#outer.get(name) : own;
  }

  /** Seen here and inside; what is outside keeps its own. */
  set(name: string, value: TemplateValue): void {
    this.#names.set(name, value);
  }
}

/** What every template sees. `now`: for templates that write the date, as the engine's clock would. */
export function globalScope(now: () => Date): TemplateScope {
  const scope = new TemplateScope(null);
  for (const [name, value] of [['true', true], ['True', true], ['false', false], ['False', false], ['none', null], ['None', null]] as const) scope.set(name, value);
  scope.set('namespace', new TemplateFunction((_args, named) => new Namespace(named)));
  scope.set('range', new TemplateFunction((args) => range(args)));
  scope.set('strftime_now', new TemplateFunction(([format]) => dateText(now(), textOf(format))));
  scope.set('raise_exception', new TemplateFunction(([message]) => {
    throw new Error(`the template refuses the messages: ${textOf(message)}`);
  }));
  return scope;
}

const longestRange = 100_000;

function range(args: readonly TemplateValue[]): readonly number[] {
  const numbers = args.map((value) => {
    if (typeof value !== 'number') throw new Error('the template asks for a range of no numbers');
    return value;
  });
  const [start, end, step] = numbers.length === 1 ? [0, numbers[0] ?? 0, 1] : [numbers[0] ?? 0, numbers[1] ?? 0, numbers[2] ?? 1];
  const length = step === 0 ? Number.NaN : Math.max(0, Math.ceil((end - start) / step));
  if (!(length <= longestRange)) throw new Error('the template asks for an endless range');
  return Array.from({ length }, (_, place) => start + place * step);
}

const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'] as const;

function dateText(date: Date, format: string): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const month = months[date.getMonth()] ?? '';
  const written: Readonly<Record<string, string>> = {
    Y: String(date.getFullYear()), m: two(date.getMonth() + 1), d: two(date.getDate()), B: month, b: month.slice(0, 3),
    H: two(date.getHours()), M: two(date.getMinutes()), S: two(date.getSeconds()), '%': '%',
  };
  return format.replace(/%(.)/g, (_, letter: string) => {
    const text = written[letter];
    if (text === undefined) throw new Error(`the template writes a date with %${letter}`);
    return text;
  });
}
