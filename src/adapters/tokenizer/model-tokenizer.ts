import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from 'tokenizers';
import type { PoolId } from '../../core/identity/ids.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { EngineKind } from './chat-template.ts';
import { ChatTemplate } from './chat-template.ts';
import type { TextTokenizer } from './text-tokenizer.ts';

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A model's own tokenizer and chat template, in this process; encoding runs off the event loop. */
class ModelTokenizer implements TextTokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #template: ChatTemplate | null;
  readonly #kindOf: (pool: PoolId) => EngineKind;

  constructor(tokenizer: Tokenizer, template: ChatTemplate | null, kindOf: (pool: PoolId) => EngineKind) {
    this.#tokenizer = tokenizer;
    this.#template = template;
    this.#kindOf = kindOf;
  }

  async ofText(_pool: PoolId, text: string): Promise<readonly number[]> {
    return (await this.#tokenizer.encode(text, null, { addSpecialTokens: true })).getIds();
  }

  async ofChat(pool: PoolId, fields: Fields): Promise<readonly number[]> {
    if (this.#template === null) throw new RouterError('bad-config', 'the tokenizer has no chat template');
    const rendered = this.#template.render(fields, this.#kindOf(pool));
    // The template writes the special tokens itself.
    return (await this.#tokenizer.encode(rendered, null, { addSpecialTokens: false })).getIds();
  }
}

/** From a folder as Hugging Face lays it out. `kindOf`: engines prepare messages in different ways. Rejects with `bad-config`. */
export async function loadModelTokenizer(directory: string, kindOf: (pool: PoolId) => EngineKind): Promise<TextTokenizer> {
  const tokenizer = await loaded(directory, () => Tokenizer.fromFile(join(directory, 'tokenizer.json')));
  const config: unknown = JSON.parse(await loaded(directory, () => readFile(join(directory, 'tokenizer_config.json'), 'utf8')));
  const fields = isObject(config) ? config : {};
  const source = (await textFile(join(directory, 'chat_template.jinja'))) ?? templateIn(fields['chat_template']);
  return new ModelTokenizer(tokenizer, source === null ? null : new ChatTemplate(source, specialTokens(fields)), kindOf);
}

async function loaded<T>(directory: string, load: () => T | Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new RouterError('bad-config', `no tokenizer can be loaded from ${directory}: ${messageOf(cause)}: give --tokenizer a folder with tokenizer.json and tokenizer_config.json`, { cause });
  }
}

async function textFile(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    // Most models keep their template in tokenizer_config.json.
    return null;
  }
}

/** One template, or several by name, of which the default is meant. */
function templateIn(value: unknown): string | null {
  if (typeof value === 'string') return value;
  const named: readonly unknown[] = Array.isArray(value) ? value : [];
  const chosen = named.find((entry) => isObject(entry) && entry['name'] === 'default');
  return isObject(chosen) && typeof chosen['template'] === 'string' ? chosen['template'] : null;
}

/** `bos_token` and the like: texts, or objects that hold one. */
function specialTokens(config: Fields): Fields {
  const tokens: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config)) {
    const text = isObject(value) ? value['content'] : value;
    if (name.endsWith('_token') && typeof text === 'string') tokens[name] = text;
  }
  return tokens;
}
