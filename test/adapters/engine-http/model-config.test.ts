import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { vocabSizeIn } from '../../../src/adapters/engine-http/model-config.ts';

describe("the vocabulary's size in a model's folder", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinroute-model-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const sizeIn = async (config: string): Promise<number | null> => {
    await writeFile(join(folder, 'config.json'), config);
    return vocabSizeIn(folder);
  };

  it('stands in config.json, or in its part about text', async () => {
    expect(await sizeIn('{"vocab_size": 151936}')).toBe(151_936);
    expect(await sizeIn('{"text_config": {"vocab_size": 262208}, "vision_config": {}}')).toBe(262_208);
  });

  it('is unknown where the file does not say it, is none, or is not here', async () => {
    expect([await sizeIn('{}'), await sizeIn('{"vocab_size": "many"}'), await sizeIn('no json')]).toEqual([null, null, null]);
    expect(await vocabSizeIn(join(folder, 'nothing'))).toBeNull();
  });

  it('is not looked for where the model is a name and no path', async () => {
    expect([await vocabSizeIn('Qwen/Qwen3-8B'), await vocabSizeIn('./tiny'), await vocabSizeIn(null)]).toEqual([null, null, null]);
  });
});
