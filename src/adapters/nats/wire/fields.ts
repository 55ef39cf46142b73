import { decode } from '@msgpack/msgpack';
import { messageOf, RouterError } from '../../../core/router-error.ts';

/** Reads the fields of one message from the wire; whatever is not as it must be throws `bad-request`, named. */
export class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #what: string;

  constructor(value: unknown, what: string) {
    if (!isRecord(value)) throw new RouterError('bad-request', `${what} is no map`);
    this.#values = value;
    this.#what = what;
  }

  text(name: string): string {
    const value = this.#values[name];
    return typeof value === 'string' ? value : this.refuse(name, 'text');
  }

  textOrNull(name: string): string | null {
    return this.#isNull(name) ? null : this.text(name);
  }

  /** A whole number from `min` that a double holds exactly. */
  whole(name: string, min = 0): number {
    const value = this.#values[name];
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= min ? value : this.refuse(name, `whole number from ${min}`);
  }

  wholeOrNull(name: string): number | null {
    return this.#isNull(name) ? null : this.whole(name);
  }

  flag(name: string): boolean {
    const value = this.#values[name];
    return typeof value === 'boolean' ? value : this.refuse(name, 'boolean');
  }

  bytes(name: string): Uint8Array {
    const value = this.#values[name];
    return value instanceof Uint8Array ? value : this.refuse(name, 'binary');
  }

  bytesOrNull(name: string): Uint8Array | null {
    return this.#isNull(name) ? null : this.bytes(name);
  }

  list(name: string): readonly unknown[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value : this.refuse(name, 'list');
  }

  texts(name: string): readonly string[] {
    const list = this.list(name);
    return list.every((value) => typeof value === 'string') ? list : this.refuse(name, 'list of texts');
  }

  oneOf<const T extends string>(name: string, values: readonly T[]): T {
    const found = values.find((value) => value === this.#values[name]);
    return found ?? this.refuse(name, `one of ${values.join(', ')}`);
  }

  inner(name: string): Fields {
    return new Fields(this.#values[name], `${this.#what}.${name}`);
  }

  /** Throws for a version of the message that we don't know. */
  version(known: number): void {
    if (this.#values['v'] !== known) this.refuse('v', String(known));
  }

  refuse(name: string, expected: string): never {
    throw new RouterError('bad-request', `${this.#what}: ${name} is no ${expected}`);
  }

  #isNull(name: string): boolean {
    const value = this.#values[name];
    return value === null || value === undefined;
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

export function msgpackFields(data: Uint8Array, what: string): Fields {
  try {
    return new Fields(decode(data), what);
  } catch (error) {
    if (error instanceof RouterError) throw error;
    throw new RouterError('bad-request', `${what} is no msgpack: ${messageOf(error)}`, { cause: error });
  }
}

export function jsonFields(data: Uint8Array, what: string): Fields {
  return new Fields(parseJson(data, what), what);
}

export function parseJson(data: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
  } catch (error) {
    throw new RouterError('bad-request', `${what} is no JSON: ${messageOf(error)}`, { cause: error });
  }
}

export const jsonBytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
