import { capitalized, replaced, splitText, stripped } from './python-text.ts';
import { isList, itemsOf, textOf } from './template-value.ts';
import type { Arguments, Dictionary, NamedArguments, TemplateValue } from './template-value.ts';

type TextMethod = (text: string, args: Arguments, named: NamedArguments) => TemplateValue;

const optionalText = (value: TemplateValue): string | null => ((value ?? null) === null ? null : neededText(value));

function neededText(value: TemplateValue): string {
  if (typeof value === 'string') return value;
  throw new Error('the template hands something else where a text is needed');
}

const startOrEnd = (value: TemplateValue, has: (part: string) => boolean): boolean => (isList(value) ? value.some((part) => has(neededText(part))) : has(neededText(value)));

const limitIn = (value: TemplateValue): number => (typeof value === 'number' ? value : -1);

/** Python's methods of texts that chat templates use. */
export const textMethods: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ['strip', (text, [characters]) => stripped(text, optionalText(characters))],
  ['lstrip', (text, [characters]) => stripped(text, optionalText(characters), 'left')],
  ['rstrip', (text, [characters]) => stripped(text, optionalText(characters), 'right')],
  ['startswith', (text, [start]) => startOrEnd(start, (part) => text.startsWith(part))],
  ['endswith', (text, [end]) => startOrEnd(end, (part) => text.endsWith(part))],
  ['split', (text, [separator, limit], named) => splitText(text, optionalText(separator), limitIn(limit ?? named.get('maxsplit')))],
  ['rsplit', (text, [separator, limit], named) => splitText(text, optionalText(separator), limitIn(limit ?? named.get('maxsplit')), 'right')],
  ['replace', (text, [old, by, limit]) => replaced(text, neededText(old), neededText(by), limitIn(limit))],
  ['upper', (text) => text.toUpperCase()],
  ['lower', (text) => text.toLowerCase()],
  ['capitalize', (text) => capitalized(text)],
  ['join', (text, [parts]) => itemsOf(parts).map(neededText).join(text)],
  ['removeprefix', (text, [part]) => (text.startsWith(neededText(part)) ? text.slice(neededText(part).length) : text)],
  ['removesuffix', (text, [part]) => (text.endsWith(neededText(part)) ? text.slice(0, text.length - neededText(part).length) : text)],
]);

type DictionaryMethod = (dictionary: Dictionary, args: Arguments) => TemplateValue;

/** Python's methods of dictionaries that chat templates use. */
export const dictionaryMethods: ReadonlyMap<string, DictionaryMethod> = new Map<string, DictionaryMethod>([
  ['get', (dictionary, [name, otherwise]) => (Object.hasOwn(dictionary, textOf(name)) ? dictionary[textOf(name)] : (otherwise ?? null))],
  ['items', (dictionary) => Object.entries(dictionary)],
  ['keys', (dictionary) => Object.keys(dictionary)],
  ['values', (dictionary) => Object.values(dictionary)],
]);
