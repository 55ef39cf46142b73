import type { ContentForm, Fields, PreparedChat } from './chat-fields.ts';
import { fieldsIn, isFields, listIn, present } from './chat-fields.ts';

/** A chat request as SGLang 0.5.23 hands it to the model's template. Throws for what SGLang refuses. */
export function prepareSglangChat(fields: Fields, form: ContentForm): PreparedChat {
  const messages = listIn(fields['messages']).map((message) => messageOf(fieldsIn(message), form));
  const { kept, continued } = lastAnswer(messages, fields['continue_final_message'] === true);
  // SGLang always asks for an answer: it has no `add_generation_prompt`.
  return { messages: kept, tools: toolsOf(fields), addGenerationPrompt: true, names: namesOf(fields), continued, cutAfter: null };
}

/** Fields that its message models know; any other is dropped, and a user has but a content. */
function messageOf(message: Fields, form: ContentForm): Fields {
  const role = typeof message['role'] === 'string' ? message['role'] : '';
  if (role === 'user') return { role, content: contentOf(message, role, form) };
  const { tool_call_id, name, reasoning_content, tools } = message;
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'].map((call: unknown) => callOf(call, role.toLowerCase())) : null;
  return present({ role: role.toLowerCase(), content: contentOf(message, role.toLowerCase(), form), tool_call_id, name, reasoning_content, tool_calls: calls, tools });
}

function contentOf(message: Fields, role: string, form: ContentForm): unknown {
  const content = message['content'] ?? '';
  if (!Array.isArray(content)) return content;
  const parts = content.map(fieldsIn);
  const texts = parts.filter(({ type }) => type === 'text' || type === 'input_text').map(({ text }) => (typeof text === 'string' ? text : ''));
  // A tool's result is one text even for a template that takes parts.
  return form === 'text' || role === 'tool' ? texts.join(' ') : texts.map((text) => ({ type: 'text', text }));
}

function callOf(call: unknown, role: string): Fields {
  const { id, index, type, function: called } = fieldsIn(call);
  const { name, arguments: given } = fieldsIn(called);
  const parsed = role === 'assistant' && typeof given === 'string' ? parsedArguments(given) : given;
  return { id: id ?? null, index: index ?? null, type: type ?? 'function', function: { name: name ?? null, arguments: parsed ?? null } };
}

function parsedArguments(text: string): Fields {
  const value: unknown = JSON.parse(text);
  if (isFields(value)) return value;
  throw new Error('SGLang refuses arguments of a tool call that are no JSON object');
}

/** An answer at the end is gone on with behind the rendered text, or else becomes the user's. */
function lastAnswer(messages: readonly Fields[], continues: boolean): { readonly kept: readonly Fields[]; readonly continued: string } {
  const last = messages.at(-1);
  const content = last?.['content'];
  if (last?.['role'] !== 'assistant' || typeof content !== 'string') return { kept: messages, continued: '' };
  const before = messages.slice(0, -1);
  return continues ? { kept: before, continued: content } : { kept: [...before, { role: 'user', content }], continued: '' };
}

/** In the order and with the defaults of SGLang's models: a template writes them out as JSON. */
function toolsOf(fields: Fields): readonly Fields[] | null {
  const choice = fields['tool_choice'];
  const tools = listIn(fields['tools']).map(toolOf);
  if (tools.length === 0 || choice === 'none') return null;
  const named = isFields(choice) ? fieldsIn(choice['function'])['name'] : undefined;
  return isFields(choice) ? tools.filter((tool) => fieldsIn(tool['function'])['name'] === named) : tools;
}

function toolOf(tool: unknown): Fields {
  const { type, function: described, defer_loading: deferTool } = fieldsIn(tool);
  const { description, name, parameters, strict, defer_loading } = fieldsIn(described);
  const deferred = defer_loading ?? deferTool ?? null;
  return {
    type: type ?? 'function',
    function: { description: description ?? null, name, parameters: parameters ?? null, strict: strict ?? false, ...(deferred === null ? {} : { defer_loading: deferred }) },
    // Its function leaves an absent one out, the tool itself does not.
    defer_loading: deferTool ?? null,
  };
}

/** What of the wish to think reaches the template: each model looks for another of these names. */
function namesOf(fields: Fields): Fields {
  const given = { ...fieldsIn(fields['chat_template_kwargs']) };
  const effortInside = given['reasoning_effort'] ?? null;
  delete given['reasoning_effort'];
  const { effort: wanted, thinks } = reasoningOf(fields);
  const effort = effortInside ?? wanted;
  const thinking = thinks === null ? {} : { thinking: thinks, enable_thinking: thinks };
  return { ...(effort === null ? {} : { reasoning_effort: effort }), ...thinking, ...given };
}

function reasoningOf(fields: Fields): { readonly effort: unknown; readonly thinks: boolean | null } {
  const reasoning = fields['reasoning'];
  const asked = fieldsIn(reasoning);
  const effort = asked['effort'] ?? asked['reasoning_effort'] ?? fields['reasoning_effort'] ?? null;
  if (effort !== null) return { effort, thinks: effort !== 'none' };
  return { effort: null, thinks: isYes(asked['enabled'] ?? asked['enable']) ? true : null };
}

const isYes = (value: unknown): boolean => value === true || (typeof value === 'string' && ['1', 'true', 'yes', 'y', 'on'].includes(value.trim().toLowerCase()));
