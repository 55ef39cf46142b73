import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, RouterError } from '../../core/router-error.ts';
import { fieldsIn, isFields, listIn } from './chat-fields.ts';
import type { Fields } from './chat-fields.ts';

/** What of a model's folder makes its prompts. */
export interface ModelFolder {
  /** The text of `tokenizer.json`. */
  readonly tokenizer: string;
  /** Null: the model has none, and its chats are not tokenized here. */
  readonly template: string | null;
  /** `bos_token` and the like, which templates name. */
  readonly specialTokens: Fields;
}

/** As Hugging Face lays it out. Rejects with `bad-config` where files are missing or no JSON. */
export async function readModelFolder(directory: string): Promise<ModelFolder> {
  try {
    const tokenizer = await readFile(join(directory, 'tokenizer.json'), 'utf8');
    const config = fieldsIn(JSON.parse(await readFile(join(directory, 'tokenizer_config.json'), 'utf8')));
    const template = (await textFile(join(directory, 'chat_template.jinja'))) ?? templateIn(config['chat_template']);
    return { tokenizer, template, specialTokens: specialTokensIn(config) };
  } catch (cause) {
    throw new RouterError('bad-config', `no tokenizer can be loaded from ${directory}: ${messageOf(cause)}: give --tokenizer a folder with tokenizer.json and tokenizer_config.json`, { cause });
  }
}

async function textFile(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    // Many models keep their template in tokenizer_config.json.
    return null;
  }
}

/** One template, or several by name, of which the default is meant. */
function templateIn(value: unknown): string | null {
  if (typeof value === 'string') return value;
  const template = listIn(value).map(fieldsIn).find(({ name }) => name === 'default')?.['template'];
  return typeof template === 'string' ? template : null;
}

/** Texts, or objects that hold one. */
function specialTokensIn(config: Fields): Fields {
  const tokens: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config)) {
    const text = isFields(value) ? value['content'] : value;
    if (name.endsWith('_token') && typeof text === 'string') tokens[name] = text;
  }
  return tokens;
}
