import { messageOf, RouterError } from '../../core/router-error.ts';
import type { ContentForm, EngineKind, Fields, PreparedChat } from './chat-fields.ts';
import { prepareSglangChat } from './sglang-chat.ts';
import { compileTemplate } from './template/compile-template.ts';
import type { RenderTemplate } from './template/compile-template.ts';
import { stripped } from './template/python-text.ts';
import { goesThroughParts } from './template/takes-parts.ts';
import { parseTemplate } from './template/template-node.ts';
import { prepareVllmChat } from './vllm-chat.ts';

/** A model's chat template: from a chat request to the text that its engine tokenizes. */
export class ChatTemplate {
  readonly #render: RenderTemplate;
  readonly #specialTokens: Fields;
  readonly #forms: Readonly<Record<EngineKind, ContentForm>>;

  /** `specialTokens`: what the template may name, `bos_token` and the like. Throws `bad-config` for a template with what is not known here. */
  constructor(source: string, specialTokens: Fields) {
    try {
      const parsed = parseTemplate(source);
      this.#render = compileTemplate(parsed);
      const ofLoops: ContentForm = goesThroughParts(parsed) ? 'parts' : 'text';
      // SGLang takes a template that names images or sounds for one that takes parts.
      this.#forms = { vllm: ofLoops, sglang: /image|audio|video|vision/.test(source) ? 'parts' : ofLoops };
    } catch (cause) {
      throw new RouterError('bad-config', `the chat template can't be rendered here: ${messageOf(cause)}`, { cause });
    }
    this.#specialTokens = specialTokens;
  }

  /** Throws where the template or the engine refuses the request, and where their answer is not known. */
  render(fields: Fields, kind: EngineKind): string {
    const chat = kind === 'sglang' ? prepareSglangChat(fields, this.#forms.sglang) : prepareVllmChat(fields, this.#forms.vllm);
    return ended(this.#render(this.#names(chat)), chat);
  }

  #names({ messages, tools, addGenerationPrompt, names }: PreparedChat): Fields {
    return { ...this.#specialTokens, ...names, messages, tools, documents: null, add_generation_prompt: addGenerationPrompt };
  }
}

function ended(rendered: string, { continued, cutAfter }: PreparedChat): string {
  if (cutAfter === null) return rendered + continued;
  const at = rendered.lastIndexOf(stripped(cutAfter, null));
  if (at < 0) throw new Error('the last message can\'t be continued: the template has changed it');
  // White space at its end stays if the template kept it.
  const whole = stripped(cutAfter, null, 'left');
  return rendered.startsWith(whole, at) ? rendered.slice(0, at + whole.length) : rendered.slice(0, at + stripped(cutAfter, null).length);
}
