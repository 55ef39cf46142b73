import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { forbiddenImports, type SourceFile } from './support/import-rules.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

function sourceFiles(): SourceFile[] {
  const entries = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(root, path), text: readFileSync(path, 'utf8') }));
}

const breach = (path: string, text: string): readonly string[] => forbiddenImports([{ path, text }]);

describe('architecture', () => {
  it('has no import against the arrows and no package outside its room', () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(20);
    expect(forbiddenImports(files)).toEqual([]);
  });

  it('sees an import that goes up', () => {
    expect(breach('src/core/x.ts', `import type { Clock } from '../ports/clock.ts';`)).toHaveLength(1);
    expect(breach('src/ports/x.ts', `import { run } from '../app/run.ts';`)).toHaveLength(1);
    expect(breach('src/app/x.ts', `import { systemClock } from '../adapters/system/system-clock.ts';`)).toHaveLength(1);
    expect(breach('src/adapters/nats/x.ts', `import { main } from '../../main/cli.ts';`)).toHaveLength(1);
  });

  it('sees one adapter importing another', () => {
    expect(breach('src/adapters/nats/x.ts', `import { x } from '../engine-http/client.ts';`)).toHaveLength(1);
  });

  it('sees a package or a Node module in core and in app', () => {
    expect(breach('src/core/x.ts', `import { readFileSync } from 'node:fs';`)).toHaveLength(1);
    expect(breach('src/app/x.ts', `import { connect } from 'nats';`)).toHaveLength(1);
    expect(breach('src/app/x.ts', `const { connect } = await import('nats');`)).toHaveLength(1);
    expect(breach('src/ports/x.ts', `export { pino } from 'pino';`)).toHaveLength(1);
  });

  it('sees a package outside the folder it belongs to', () => {
    expect(breach('src/adapters/http-front/x.ts', `import { connect } from 'nats';`)).toHaveLength(1);
    expect(breach('src/main/x.ts', `import left from 'left-pad';`)).toHaveLength(1);
    expect(breach('src/adapters/nats/x.ts', `import { connect } from 'nats';`)).toEqual([]);
  });

  it('sees a clock, randomness and async in core', () => {
    expect(breach('src/core/x.ts', 'const t = Date.now();')).toHaveLength(1);
    expect(breach('src/core/x.ts', 'const t = performance.now();')).toHaveLength(1);
    expect(breach('src/core/x.ts', 'const r = Math.random();')).toHaveLength(1);
    expect(breach('src/core/x.ts', 'export async function f(): Promise<void> {}')).toHaveLength(1);
    expect(breach('src/core/x.ts', 'setTimeout(() => undefined, 1);')).toHaveLength(1);
    expect(breach('src/core/x.ts', '// async work and Date.now() in a comment')).toEqual([]);
  });
});
