import { isDictionary, isList } from './template-value.ts';
import type { TemplateValue } from './template-value.ts';

const isNumber = (value: TemplateValue): value is number => typeof value === 'number';
const isSequence = (value: TemplateValue): boolean => typeof value === 'string' || isList(value) || isDictionary(value);

/** Jinja's tests that take nothing beside their operand. */
export const templateTests: ReadonlyMap<string, (value: TemplateValue) => boolean> = new Map<string, (value: TemplateValue) => boolean>([
  ['defined', (value) => value !== undefined],
  ['undefined', (value) => value === undefined],
  ['none', (value) => value === null],
  ['string', (value) => typeof value === 'string'],
  ['number', (value) => isNumber(value) || typeof value === 'boolean'],
  ['integer', (value) => isNumber(value) && Number.isInteger(value)],
  ['boolean', (value) => typeof value === 'boolean'],
  ['true', (value) => value === true],
  ['false', (value) => value === false],
  ['mapping', isDictionary],
  // Jinja's undefined can be gone through: it has nothing.
  ['iterable', (value) => isSequence(value) || value === undefined],
  ['sequence', (value) => isSequence(value) || value === undefined],
  ['odd', (value) => isNumber(value) && Math.abs(value % 2) === 1],
  ['even', (value) => isNumber(value) && value % 2 === 0],
]);
