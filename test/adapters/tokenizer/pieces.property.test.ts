import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Tokenizer } from 'tokenizers';
import { beforeAll, describe, expect, it } from 'vitest';
import { ChatTemplate } from '../../../src/adapters/tokenizer/chat-template.ts';
import { readModelFolder } from '../../../src/adapters/tokenizer/model-folder.ts';
import { NativeTokenizer } from '../../../src/adapters/tokenizer/native-tokenizer.ts';
import { modelFolder, realModels } from './real-tokenizers.ts';
import { sglangTiny } from './recorded-prompts.ts';

const runs = Number(process.env['KINROUTE_PROPERTY_RUNS'] ?? 300);

/** What borders, normalizers and added tokens make of each other: pieces of text that meet in every order. */
const nasty = [
  '', ' ', '  ', '\n', '\n\n', '\n\n\n', '\t', '\r\n', 'a', 'Word', ' the', "'s", '1234', '.', '<', '>', '|', '<|', '|>', 'e\u0301', '\u0301', '\u200d', '\ufe0f', '\u00a0', '\u3000', '\u2028', '\0', '\ufeff',
  'ﬁ', 'Å', '你好', 'こんにちは', 'مرحبا', '한국', '😀', '👩‍👩‍👧‍👦', '🇫🇷', '\ud83d', '\ude00', '▁', '▁▁', 'Ġ', '<0x0A>', '<unused1>', '<h1>', '</h1>',
  '<|im_start|>', '<|im_end|>', '<|im_start', '<tool_call>', '</tool_call>', '<think>', '</think>', '<tool_response>', '<|endoftext|>', '<|begin_of_text|>', '<|eot_id|>', '<|start_header_id|>', '<|end_header_id|>',
  '<bos>', '<eos>', '<start_of_turn>', '<end_of_turn>', '<pad>', '<｜User｜>', '<｜Assistant｜>', '<｜end▁of▁sentence｜>', '<｜begin▁of▁sentence｜>', '<｜tool▁sep｜>',
];

const text = fc.array(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...nasty) }, { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) }), { maxLength: 12 }).map((parts) => parts.join(''));

/** Roles by turns, as the strictest of the templates wants them. */
const chat = fc.record({ system: fc.option(text), turns: fc.array(text, { minLength: 1, maxLength: 6 }) }).map(({ system, turns }) => [
  ...(system === null ? [] : [{ role: 'system', content: system }]),
  ...turns.map((content, place) => ({ role: place % 2 === 0 ? 'user' : 'assistant', content })),
]);

describe.each(realModels)('%s, tokenized in pieces', (model) => {
  let whole: Tokenizer;
  let inPieces: NativeTokenizer;
  let template: ChatTemplate;

  beforeAll(async () => {
    const folder = await readModelFolder(modelFolder(model));
    whole = Tokenizer.fromString(folder.tokenizer);
    // Small, so that pieces are forgotten and made again all the time.
    inPieces = await NativeTokenizer.load(folder.tokenizer, 20_000);
    template = new ChatTemplate(folder.template ?? '', folder.specialTokens);
    expect(inPieces.wholeBecause).toBeNull();
  });

  const wholeTokens = async (of: string, addSpecialTokens: boolean): Promise<readonly number[]> => (await whole.encode(of, null, { addSpecialTokens })).getIds();

  it('has the tokens of the whole text, for any chat its template renders', async () => {
    await fc.assert(
      fc.asyncProperty(chat, async (messages) => {
        // SGLang makes an answer at the end the user's, and then roles no longer alternate.
        const rendered = template.render({ messages }, messages.at(-1)?.role === 'user' ? 'sglang' : 'vllm');
        expect(Array.from(await inPieces.ofRendered(rendered))).toEqual(await wholeTokens(rendered, false));
      }),
      { numRuns: runs },
    );
  });

  it('has the tokens of the whole text, for any text, with what goes around it', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (prompt) => {
        expect(Array.from(await inPieces.ofText(prompt))).toEqual(await wholeTokens(prompt, true));
      }),
      { numRuns: runs },
    );
  });
});

describe('a tokenizer that does more at the beginning of a text', () => {
  it('is found out, and tokenizes whole texts', async () => {
    const description = JSON.parse(readFileSync(join(sglangTiny, 'tokenizer.json'), 'utf8')) as Record<string, unknown>;
    const changed = { ...description, pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true } };
    const tokenizer = await NativeTokenizer.load(JSON.stringify(changed), 20_000);
    expect(tokenizer.wholeBecause).toMatch(/beginning/);
    const whole = Tokenizer.fromString(JSON.stringify(changed));
    const prompt = '<|user|>hello world';
    expect(Array.from(await tokenizer.ofRendered(prompt))).toEqual((await whole.encode(prompt, null, { addSpecialTokens: false })).getIds());
  });
});
