import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sharedPath } from '../../support/shared-data.ts';

const fixtures = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', 'fixtures');

/** The tokenizer and template that SGLang was recorded with, made again by the recorder's own script. */
export const sglangTiny = join(fixtures, 'sglang-tiny');

export const fixture = (name: string): string => join(fixtures, name);

/** A request that SGLang answered, with what it says of its prompt. */
export interface RecordedPrompt {
  readonly name: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Null: not told. */
  readonly tokens: readonly number[] | null;
  readonly count: number;
}

interface Exchange {
  readonly request: { readonly path: string; readonly body?: string };
  readonly response: { readonly status: number; readonly bodyBase64?: string };
}

interface Answer {
  readonly tokens?: readonly number[];
  readonly count?: number;
  readonly usage?: { readonly prompt_tokens: number } | null;
  readonly meta_info?: { readonly prompt_tokens: number };
  readonly choices?: readonly { readonly prompt_token_ids?: readonly number[] }[];
}

const prompting: ReadonlySet<string> = new Set(['/v1/chat/completions', '/v1/completions', '/generate', '/v1/tokenize', '/tokenize']);

/** Of SGLang 0.5.23's plain server: all that were answered with 200 and say their count. */
export function sglangPrompts(): readonly RecordedPrompt[] {
  const folder = sharedPath('fixtures', 'sglang', '0.5.23', 'server-plain', 'http');
  return readdirSync(folder).flatMap((file) => {
    const { request, response } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Exchange;
    if (!prompting.has(request.path) || response.status !== 200) return [];
    const body = JSON.parse(request.body ?? '{}') as Record<string, unknown>;
    const answers = answersIn(Buffer.from(response.bodyBase64 ?? '', 'base64').toString());
    const count = answers.map((answer) => answer.count ?? answer.usage?.prompt_tokens ?? answer.meta_info?.prompt_tokens).find((value) => value !== undefined);
    const tokens = answers.map((answer) => answer.tokens ?? answer.choices?.[0]?.prompt_token_ids).find((value) => value !== undefined);
    return count === undefined ? [] : [{ name: file, path: request.path, body, tokens: tokens ?? null, count }];
  });
}

function answersIn(text: string): readonly Answer[] {
  const pieces = text.startsWith('data:') ? text.split('\n').filter((line) => line.startsWith('data: {')).map((line) => line.slice(6)) : [text];
  return pieces.map((piece) => JSON.parse(piece) as Answer);
}

export interface VllmGoldens {
  readonly texts: readonly { readonly text: string; readonly tokens: readonly number[] }[];
  readonly chats: readonly { readonly label: string; readonly messages: readonly unknown[]; readonly options: Readonly<Record<string, unknown>>; readonly tokens: readonly number[]; readonly rendered: string }[];
}

/** What vLLM 0.32.0 made of `tiny-model`. */
export const vllmGoldens = (): VllmGoldens => JSON.parse(readFileSync(sharedPath('fixtures', 'tiny-model', 'golden.json'), 'utf8')) as VllmGoldens;
