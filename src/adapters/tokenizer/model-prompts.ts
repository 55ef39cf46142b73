import type { EngineKind, Fields } from './chat-fields.ts';
import { ChatTemplate } from './chat-template.ts';
import { readModelFolder } from './model-folder.ts';
import { NativeTokenizer } from './native-tokenizer.ts';
import { messageOf } from '../../core/router-error.ts';

/** From requests to tokens with a model's own files; runs on the thread that calls it. */
export class ModelPrompts {
  readonly #tokenizer: NativeTokenizer;
  readonly #template: ChatTemplate | null;
  /** Null: its chats are tokenized here. */
  readonly noChatsBecause: string | null;

  /** Rejects with `bad-config` for a folder without a tokenizer; a template that can't be rendered leaves chats out alone. */
  static async load(directory: string, cacheBytes: number): Promise<ModelPrompts> {
    const { tokenizer, template, specialTokens } = await readModelFolder(directory);
    const native = await NativeTokenizer.load(tokenizer, cacheBytes);
    try {
      return new ModelPrompts(native, template === null ? null : new ChatTemplate(template, specialTokens), template === null ? 'the model has no chat template' : null);
    } catch (error) {
      return new ModelPrompts(native, null, messageOf(error));
    }
  }

  private constructor(tokenizer: NativeTokenizer, template: ChatTemplate | null, noChatsBecause: string | null) {
    this.#tokenizer = tokenizer;
    this.#template = template;
    this.noChatsBecause = noChatsBecause;
  }

  get wholeBecause(): string | null {
    return this.#tokenizer.wholeBecause;
  }

  ofText(text: string): Promise<Int32Array> {
    return this.#tokenizer.ofText(text);
  }

  async ofChat(fields: Fields, kind: EngineKind): Promise<Int32Array> {
    if (this.#template === null) throw new Error(this.noChatsBecause ?? 'the model has no chat template');
    return await this.#tokenizer.ofRendered(this.#template.render(fields, kind));
  }
}
