import { RouterError } from '../../core/router-error.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

const typeName = (value: unknown): string => {
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  return Array.isArray(value) ? 'list' : value === null ? 'NoneType' : 'dict';
};

/** The engine's word for a field of the wrong type; answered with 400 and its validation shape. */
export function wrongType(field: string, wanted: string, value: unknown): RouterError {
  return new RouterError('bad-json', `1 validation error:\n  {'type': 'value_error', 'loc': ('body', '${field}'), 'msg': 'Value error, must be ${wanted}; got ${typeName(value)}'}`);
}

export function missingField(field: string): RouterError {
  return new RouterError('bad-json', `1 validation error:\n  {'type': 'missing', 'loc': ('body', '${field}'), 'msg': 'Field required'}`);
}

export function optionalNumber(body: JsonObject, field: string): number | null {
  const value = body[field];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number') throw wrongType(field, 'number or null', value);
  return value;
}

export function optionalString(body: JsonObject, field: string): string | null {
  const value = body[field];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw wrongType(field, 'str or null', value);
  return value;
}

export function optionalObject(body: JsonObject, field: string): JsonObject | null {
  const value = body[field];
  if (value === undefined || value === null) return null;
  if (!isObject(value)) throw wrongType(field, 'dict or null', value);
  return value;
}

/** A string or a list of them; nothing is an empty list. */
export function stringList(body: JsonObject, field: string): readonly string[] {
  const value = body[field];
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw wrongType(field, 'str, list or null', value);
}
