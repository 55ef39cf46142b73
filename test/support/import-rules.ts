import { posix } from 'node:path';

export interface SourceFile {
  /** From the checkout's top, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Which rooms of src a room may import from, itself included. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  core: ['core'],
  ports: ['ports', 'core'],
  app: ['app', 'ports', 'core'],
  adapters: ['ports', 'core'],
  main: ['main', 'adapters', 'app', 'ports', 'core', 'page'],
  page: ['page'],
};

/** Which packages a folder may import, besides Node's own modules where `node:` stands. */
const packages: Readonly<Record<string, readonly string[]>> = {
  'src/adapters/nats': ['nats', '@msgpack/msgpack', 'node:'],
  'src/adapters/engine-http': ['undici', 'node:'],
  'src/adapters/engine-events': ['zeromq', '@msgpack/msgpack', 'node:'],
  'src/adapters/http-front': ['fastify', 'prom-client', 'node:'],
  'src/adapters/tokenizer': ['tokenizers', '@huggingface/jinja', 'node:'],
  'src/adapters/simulator': ['fastify', 'zeromq', '@msgpack/msgpack', 'node:'],
  'src/adapters/load-client': ['undici', 'node:'],
  'src/adapters/trace-file': ['node:'],
  'src/adapters/system': ['node:'],
  'src/main': ['commander', 'pino', 'cli-table3', 'node:'],
};

const importPattern =
  /^[ \t]*(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,?\s*)?(?:\{[^{}]*\}|\*(?:\s+as\s+[\w$]+)?)?\s*from\s*['"]([^'"]+)['"]|^[ \t]*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;
const impure = /\bDate\.now\(|\bnew Date\(|\bperformance\.|\bMath\.random\(|\basync\b|\bawait\b|\bsetTimeout\(|\bsetInterval\(|\bqueueMicrotask\(|\bprocess\./;

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/[^\n]*/g, '$1');

const roomOf = (path: string): string => path.split('/')[1] ?? '';

/** `src/adapters/nats/wire/x.ts` -> `src/adapters/nats`; elsewhere the room. */
const folderOf = (path: string): string => path.split('/').slice(0, roomOf(path) === 'adapters' ? 3 : 2).join('/');

function importsOf(text: string): string[] {
  return [...text.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

function breachOf(file: SourceFile, specifier: string): string | null {
  const room = roomOf(file.path);
  if (!specifier.startsWith('.')) {
    const allowed = packages[folderOf(file.path)] ?? [];
    const fine = allowed.some((name) => (name === 'node:' ? specifier.startsWith('node:') : specifier === name || specifier.startsWith(`${name}/`)));
    return fine ? null : `${file.path} imports the package ${specifier}`;
  }
  const target = posix.join(posix.dirname(file.path), specifier);
  const targetRoom = roomOf(target);
  const inOwnAdapter = room === 'adapters' && targetRoom === 'adapters' && folderOf(target) === folderOf(file.path);
  if (inOwnAdapter || (arrows[room] ?? []).includes(targetRoom)) return null;
  return `${file.path} imports ${target}`;
}

/** Every import against the arrows of the architecture, every package outside its room, every impurity in core. */
export function forbiddenImports(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const code = withoutComments(file.text);
    const breaches = importsOf(code).map((specifier) => breachOf(file, specifier)).filter((breach) => breach !== null);
    const found = roomOf(file.path) === 'core' ? impure.exec(code) : null;
    return found === null ? breaches : [...breaches, `${file.path} uses ${found[0]} in core`];
  });
}
