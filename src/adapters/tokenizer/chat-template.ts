import { Template } from '@huggingface/jinja';
import { RouterError } from '../../core/router-error.ts';

type Fields = Readonly<Record<string, unknown>>;
export type EngineKind = 'sglang' | 'vllm';

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A model's chat template: from a chat request to the text that its engine tokenizes. */
export class ChatTemplate {
  readonly #template: Template;
  readonly #specialTokens: Fields;
  /** It goes through the parts of a content itself; others get them as one text. */
  readonly #takesParts: boolean;

  /** `specialTokens`: what the template may name, `bos_token` and the like. Throws `bad-config` for a template that can't be parsed. */
  constructor(source: string, specialTokens: Fields) {
    try {
      this.#template = new Template(source);
    } catch (cause) {
      throw new RouterError('bad-config', 'the chat template can\'t be parsed: start the router without --tokenizer', { cause });
    }
    this.#specialTokens = specialTokens;
    this.#takesParts = /for\s+\w+\s+in\s+[\w.]*content\b|for\s+\w+\s+in\s+\w+\[['"]content['"]\]/.test(source);
  }

  render(fields: Fields, kind: EngineKind): string {
    const messages = Array.isArray(fields['messages']) ? fields['messages'].map((message: unknown) => this.#message(message, kind)) : [];
    const tools = Array.isArray(fields['tools']) && fields['tools'].length > 0 ? fields['tools'] : undefined;
    const continues = fields['continue_final_message'] === true;
    const rendered = this.#template.render({
      ...this.#specialTokens,
      ...(isObject(fields['chat_template_kwargs']) ? fields['chat_template_kwargs'] : {}),
      messages,
      ...(tools === undefined ? {} : { tools }),
      add_generation_prompt: fields['add_generation_prompt'] !== false && !continues,
    });
    return continues ? cutAfterLast(rendered, messages.at(-1)) : rendered;
  }

  /** As the engines prepare messages before their template sees them. */
  #message(message: unknown, kind: EngineKind): unknown {
    if (!isObject(message)) return message;
    const calls = message['tool_calls'];
    return {
      ...message,
      content: this.#content(message['content'], kind),
      ...(Array.isArray(calls) ? { tool_calls: calls.map(withParsedArguments) } : {}),
    };
  }

  #content(content: unknown, kind: EngineKind): unknown {
    if (content === undefined || content === null) return kind === 'sglang' ? '' : null;
    if (!Array.isArray(content) || this.#takesParts) return content;
    const texts = content.map((part: unknown) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''));
    return texts.join(kind === 'sglang' ? ' ' : '\n');
  }
}

/** A call's arguments come as JSON text and reach the template as an object. */
function withParsedArguments(call: unknown): unknown {
  if (!isObject(call) || !isObject(call['function'])) return call;
  const given = call['function']['arguments'];
  return typeof given === 'string' ? { ...call, function: { ...call['function'], arguments: parsed(given) } } : call;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A model may have written broken arguments; the engine passes them on as text too.
    return text;
  }
}

/** The last message goes on where it ends: whatever the template puts behind it is left out. */
function cutAfterLast(rendered: string, last: unknown): string {
  const content = isObject(last) && typeof last['content'] === 'string' ? last['content'] : '';
  const at = rendered.lastIndexOf(content.trim());
  return at < 0 ? rendered : rendered.slice(0, at + content.trim().length);
}
