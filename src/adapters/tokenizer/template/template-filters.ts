import { capitalized, lengthOfText, replaced, stripped } from './python-text.ts';
import { areEqual, isDictionary, isList, itemsOf, textOf, truthOf } from './template-value.ts';
import type { Arguments, NamedArguments, TemplateValue } from './template-value.ts';
import { templateTests } from './template-tests.ts';
import { toJson } from './to-json.ts';

type Filter = (value: TemplateValue, args: Arguments, named: NamedArguments) => TemplateValue;

/** Jinja's filters that chat templates use, and `tojson` as Hugging Face has it. */
export const templateFilters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['safe', (value) => value],
  ['trim', (value, [characters]) => stripped(textOf(value), typeof characters === 'string' ? characters : null)],
  ['tojson', (value, [], named) => toJson(value, indentIn(named))],
  ['length', lengthOf],
  ['count', lengthOf],
  ['first', (value) => itemsOf(value)[0]],
  ['last', (value) => itemsOf(value).at(-1)],
  ['upper', (value) => textOf(value).toUpperCase()],
  ['lower', (value) => textOf(value).toLowerCase()],
  ['capitalize', (value) => capitalized(textOf(value))],
  ['string', (value) => textOf(value)],
  ['list', (value) => [...itemsOf(value)]],
  ['items', (value) => (isDictionary(value) ? Object.entries(value) : itemsOf(value))],
  ['reverse', (value) => (typeof value === 'string' ? Array.from(value).reverse().join('') : [...itemsOf(value)].reverse())],
  ['default', orDefault],
  ['d', orDefault],
  ['join', (value, [separator]) => itemsOf(value).map(textOf).join(textOf(separator))],
  ['replace', (value, [old, by]) => replaced(textOf(value), textOf(old), textOf(by), -1)],
  ['map', mapped],
  ['selectattr', (value, args) => itemsOf(value).filter(attributeTest(args))],
  ['rejectattr', (value, args) => itemsOf(value).filter((item) => !attributeTest(args)(item))],
]);

/** Anything else that is asked of `tojson` writes what we don't know how to. */
function indentIn(named: NamedArguments): number | null {
  for (const [name, value] of named) {
    if (name === 'indent' && (typeof value === 'number' || value === null)) continue;
    if (name === 'ensure_ascii' && value === false) continue;
    throw new Error(`the template asks tojson for ${name}`);
  }
  const indent = named.get('indent');
  return typeof indent === 'number' ? indent : null;
}

function lengthOf(value: TemplateValue): number {
  if (typeof value === 'string') return lengthOfText(value);
  return isDictionary(value) ? Object.keys(value).length : itemsOf(value).length;
}

function orDefault(value: TemplateValue, [otherwise, alsoFalse]: Arguments, named: NamedArguments): TemplateValue {
  const replaces = value === undefined || (truthOf(alsoFalse ?? named.get('boolean')) && !truthOf(value));
  return replaces ? (otherwise ?? '') : value;
}

function attributeOf(item: TemplateValue, name: TemplateValue): TemplateValue {
  return isDictionary(item) && typeof name === 'string' && !name.includes('.') && Object.hasOwn(item, name) ? item[name] : undefined;
}

function mapped(value: TemplateValue, args: Arguments, named: NamedArguments): TemplateValue {
  const attribute = named.get('attribute');
  if (attribute !== undefined) return itemsOf(value).map((item) => attributeOf(item, attribute));
  const [name, ...rest] = args;
  const filter = typeof name === 'string' ? templateFilters.get(name) : undefined;
  if (filter === undefined) throw new Error('the template maps with a filter that is not known here');
  return itemsOf(value).map((item) => filter(item, rest, new Map()));
}

function attributeTest([name, test, argument]: Arguments): (item: TemplateValue) => boolean {
  if (test === undefined) return (item) => truthOf(attributeOf(item, name));
  if (test === 'equalto' || test === 'eq' || test === '==') return (item) => areEqual(attributeOf(item, name), argument);
  if (test === 'in') return (item) => isList(argument) && argument.some((one) => areEqual(one, attributeOf(item, name)));
  const found = typeof test === 'string' ? templateTests.get(test) : undefined;
  if (found === undefined) throw new Error('the template selects by a test that is not known here');
  return (item) => found(attributeOf(item, name));
}
