import { execFile } from 'node:child_process';
import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = resolve(fileURLToPath(new URL('../..', import.meta.url)));
const run = promisify(execFile);
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');

describe('the built package', () => {
  let folder = '';

  beforeAll(async () => {
    // Below the checkout, so that the emitted modules find its packages.
    await mkdir(join(root, '.cache'), { recursive: true });
    folder = await mkdtemp(join(root, '.cache', 'package-'));
    await run(process.execPath, [tsc, '-p', join(root, 'src', 'tsconfig.json'), '--outDir', join(folder, 'dist')]);
    const manifest = await readFile(join(root, 'package.json'), 'utf8');
    await writeFile(join(folder, 'package.json'), manifest);
  }, 120_000);

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it('has a bin that runs without tsx and says its version', async () => {
    const { stdout } = await run(process.execPath, [join(folder, 'dist', 'main', 'cli.js'), '--version']);
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(stdout.trim()).toBe(version);
  });

  it('starts its bin with a line that names node', async () => {
    const text = await readFile(join(folder, 'dist', 'main', 'cli.js'), 'utf8');
    expect(text.startsWith('#!/usr/bin/env node\n')).toBe(true);
  });

  it('exports watchPlacements with types that a consumer compiles against', async () => {
    const consumer = `import { watchPlacements, type PlacementEvent } from 'kinroute';\nexport const seen: PlacementEvent[] = [];\nexport const watch: typeof watchPlacements = watchPlacements;\n`;
    await writeFile(join(folder, 'consumer.mts'), consumer);
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
    await run(process.execPath, [tsc, ...flags, join(folder, 'consumer.mts')], { cwd: folder });
  }, 60_000);
});
