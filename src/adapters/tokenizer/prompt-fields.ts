import type { Fields } from './chat-fields.ts';

/** What of a chat request changes its prompt, in SGLang's and vLLM's words; their `/tokenize` takes the same. */
const promptFields = ['messages', 'tools', 'tool_choice', 'chat_template_kwargs', 'reasoning_effort', 'reasoning', 'add_generation_prompt', 'continue_final_message', 'chat_template'] as const;

/** Without what is absent, and always in the same order. */
export const promptFieldsOf = (fields: Fields): Fields => Object.fromEntries(promptFields.filter((name) => (fields[name] ?? null) !== null).map((name) => [name, fields[name]]));
