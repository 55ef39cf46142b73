/**
 * What a template computes with, as Python would: `undefined` is Jinja's undefined, `null` is None; JSON's texts, numbers,
 * booleans, lists and objects are themselves.
 */
export type TemplateValue = unknown;

export type Arguments = readonly TemplateValue[];
export type NamedArguments = ReadonlyMap<string, TemplateValue>;

/** What a template can call. */
export class TemplateFunction {
  readonly call: (args: Arguments, named: NamedArguments) => TemplateValue;

  constructor(call: (args: Arguments, named: NamedArguments) => TemplateValue) {
    this.call = call;
  }
}

/** Jinja's `namespace()`: the one thing whose attributes a template may set. */
export class Namespace {
  readonly values: Map<string, TemplateValue>;

  constructor(values: NamedArguments) {
    this.values = new Map(values);
  }
}

export type Dictionary = Readonly<Record<string, TemplateValue>>;

export const isList = (value: TemplateValue): value is readonly TemplateValue[] => Array.isArray(value);

export const isDictionary = (value: TemplateValue): value is Dictionary =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Namespace) && !(value instanceof TemplateFunction);

export function truthOf(value: TemplateValue): boolean {
  if (isList(value)) return value.length > 0;
  if (isDictionary(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** Python's `str()`. Lists and objects are refused: Python prints them in a way of its own, and templates use `tojson`. */
export function textOf(value: TemplateValue): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return String(value);
    case 'boolean':
      return value ? 'True' : 'False';
    case 'undefined':
      return '';
    default:
      if (value === null) return 'None';
      throw new Error('the template prints a list or an object');
  }
}

/** Python's `==`; true and 1 are equal there. */
export function areEqual(a: TemplateValue, b: TemplateValue): boolean {
  if (isList(a) && isList(b)) return a.length === b.length && a.every((item, place) => areEqual(item, b[place]));
  if (isDictionary(a) && isDictionary(b)) {
    const names = Object.keys(a);
    return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && areEqual(a[name], b[name]));
  }
  if (isNumeric(a) && isNumeric(b)) return Number(a) === Number(b);
  return a === b;
}

/** Python's `in`. */
export function isIn(item: TemplateValue, container: TemplateValue): boolean {
  if (typeof container === 'string' && typeof item === 'string') return container.includes(item);
  if (isList(container)) return container.some((held) => areEqual(held, item));
  if (isDictionary(container)) return typeof item === 'string' && Object.hasOwn(container, item);
  if (container === undefined) return false;
  throw new Error('the template looks for something in what holds nothing');
}

/** What a `for` goes through. */
export function itemsOf(value: TemplateValue): readonly TemplateValue[] {
  if (isList(value)) return value;
  if (value === undefined) return [];
  if (typeof value === 'string') return Array.from(value);
  if (isDictionary(value)) return Object.keys(value);
  throw new Error('the template goes through something that is no list');
}

export const isNumeric = (value: TemplateValue): value is number | boolean => typeof value === 'number' || typeof value === 'boolean';
