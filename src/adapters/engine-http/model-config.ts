import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { JsonObject } from './json-fields.ts';
import { countIn, objectIn, parseJsonObject } from './json-fields.ts';

/**
 * The ids of a model's vocabulary, by the `config.json` in its folder (models for text and images: under
 * `text_config`): neither engine tells it over HTTP. Null where `folder` is a name and no path, or where that file is
 * not on this machine.
 */
export async function vocabSizeIn(folder: string | null): Promise<number | null> {
  if (folder === null || !isAbsolute(folder)) return null;
  const config = await readConfig(join(folder, 'config.json'));
  return countIn(config, 'vocab_size') ?? countIn(objectIn(config, 'text_config'), 'vocab_size');
}

async function readConfig(path: string): Promise<JsonObject> {
  try {
    return parseJsonObject(await readFile(path, 'utf8')) ?? {};
  } catch {
    // The agent need not share a disk with its engine: then the size stays unknown, and nothing is checked against it.
    return {};
  }
}
