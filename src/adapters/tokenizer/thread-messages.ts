import type { EngineKind, Fields } from './chat-fields.ts';

/** What a tokenizer's thread is started with. */
export interface ThreadOptions {
  readonly directory: string;
  readonly cacheBytes: number;
}

export type ThreadQuestion =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'chat'; readonly fields: Fields; readonly engine: EngineKind };

export interface ThreadRequest {
  readonly id: number;
  readonly question: ThreadQuestion;
}

export type ThreadAnswer =
  | { readonly kind: 'ready'; readonly loaded: LoadedModel }
  | { readonly kind: 'unloadable'; readonly message: string }
  | { readonly kind: 'tokens'; readonly id: number; readonly tokens: Int32Array }
  /** The template or the engine refuses this request, or its tokens can't be known here. */
  | { readonly kind: 'refused'; readonly id: number; readonly message: string };

export interface LoadedModel {
  /** Null: texts are tokenized in pieces. */
  readonly wholeBecause: string | null;
  /** Null: chats are rendered here. */
  readonly noChatsBecause: string | null;
}
