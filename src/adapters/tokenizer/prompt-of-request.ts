type Fields = Readonly<Record<string, unknown>>;

/** What of a request becomes the engine's prompt, as far as that can be told. */
export type RequestPrompt =
  | { readonly kind: 'ids'; readonly ids: readonly number[] }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'chat'; readonly fields: Fields }
  | { readonly kind: 'unknown'; readonly why: UnknownPrompt };

export type UnknownPrompt = 'no-prompt' | 'several-prompts' | 'images' | 'no-tokens-here';

const unknown = (why: UnknownPrompt): RequestPrompt => ({ kind: 'unknown', why });

/** By endpoint: OpenAI's chat, OpenAI's completions, and SGLang's own `/generate`. */
export function promptOfRequest(path: string, fields: Fields): RequestPrompt {
  switch (path.split('?', 1)[0]) {
    case '/generate':
      return hasImages(fields) ? unknown('images') : idsOrText(fields['input_ids'] ?? fields['text']);
    case '/v1/completions':
      return idsOrText(fields['prompt']);
    case '/v1/chat/completions':
      return chat(fields);
    default:
      return unknown('no-tokens-here');
  }
}

function chat(fields: Fields): RequestPrompt {
  if (isIds(fields['input_ids'])) return { kind: 'ids', ids: fields['input_ids'] };
  const messages = fields['messages'];
  if (!Array.isArray(messages) || messages.length === 0) return unknown('no-prompt');
  return messages.every(isTextMessage) ? { kind: 'chat', fields } : unknown('images');
}

function idsOrText(value: unknown): RequestPrompt {
  const one: unknown = Array.isArray(value) && value.length === 1 && typeof value[0] !== 'number' ? value[0] : value;
  if (typeof one === 'string') return { kind: 'text', text: one };
  if (isIds(one)) return { kind: 'ids', ids: one };
  return unknown(Array.isArray(one) && one.length > 1 ? 'several-prompts' : 'no-prompt');
}

function isIds(value: unknown): value is readonly number[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  for (const id of value) if (typeof id !== 'number') return false;
  return true;
}

const hasImages = (fields: Fields): boolean => ['image_data', 'video_data', 'audio_data', 'input_embeds'].some((name) => (fields[name] ?? null) !== null);

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A message whose content is text or parts of text: of anything else the tokens depend on more than the text. */
function isTextMessage(message: unknown): boolean {
  if (!isObject(message)) return false;
  const content = message['content'];
  return !Array.isArray(content) || content.every((part) => isObject(part) && part['type'] === 'text');
}
