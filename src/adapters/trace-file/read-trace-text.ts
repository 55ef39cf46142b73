import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { messageOf, RouterError } from '../../core/router-error.ts';

const unzip = promisify(gunzip);

/** A trace file's text and its name without folder and endings; `.gz` is told by its first bytes. Throws `bad-config`. */
export async function readTraceText(path: string): Promise<{ readonly name: string; readonly text: string }> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new RouterError('bad-config', `trace file ${path} can't be read: ${messageOf(cause)}`, { cause });
  });
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? await unzip(bytes).catch((cause: unknown) => damaged(path, cause)) : bytes;
  return { name: basename(path).replace(/(\.jsonl?)?(\.gz)?$/, ''), text: plain.toString('utf8') };
}

function damaged(path: string, cause: unknown): never {
  throw new RouterError('bad-config', `trace file ${path} is damaged gzip: ${messageOf(cause)}`, { cause });
}
