export type Fields = Readonly<Record<string, unknown>>;

export type EngineKind = 'sglang' | 'vllm';

/** What a template gets of a chat request, made as its engine makes it. */
export interface PreparedChat {
  readonly messages: readonly Fields[];
  readonly tools: readonly unknown[] | null;
  readonly addGenerationPrompt: boolean;
  /** Further names that the template sees. */
  readonly names: Fields;
  /** What follows the rendered text: an answer that is to go on, where it is no message of the template's. */
  readonly continued: string;
  /** The rendered text ends with this message's content: whatever the template puts behind it goes. */
  readonly cutAfter: string | null;
}

/** How a template wants contents: as one text, or in parts where they came in parts. */
export type ContentForm = 'text' | 'parts';

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {});

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Without what is absent: both engines drop it before the template sees it. */
export const present = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? null) !== null));
