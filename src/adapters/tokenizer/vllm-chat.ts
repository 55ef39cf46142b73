import type { ContentForm, Fields, PreparedChat } from './chat-fields.ts';
import { fieldsIn, listIn, present } from './chat-fields.ts';

/** A chat request as vLLM 0.32.0 hands it to the model's template. Throws for what vLLM refuses. */
export function prepareVllmChat(fields: Fields, form: ContentForm): PreparedChat {
  const messages = listIn(fields['messages']).map((message) => messageOf(fieldsIn(message), form));
  if ((fields['chat_template'] ?? null) !== null) throw new Error('the request brings a chat template of its own');
  const continues = fields['continue_final_message'] === true;
  const tools = listIn(fields['tools']).map(toolOf);
  const effort = fields['reasoning_effort'] ?? null;
  return {
    messages,
    tools: tools.length === 0 ? null : tools,
    addGenerationPrompt: fields['add_generation_prompt'] !== false && !continues,
    names: { ...(effort === null ? {} : { reasoning_effort: effort }), ...fieldsIn(fields['chat_template_kwargs']) },
    continued: '',
    cutAfter: continues ? lastText(messages.at(-1)) : null,
  };
}

function messageOf(message: Fields, form: ContentForm): Fields {
  const { role, name } = message;
  const answers = role === 'assistant' ? { ...callsOf(message['tool_calls']), ...thoughtsOf(message) } : {};
  const callId = role === 'tool' ? { tool_call_id: message['tool_call_id'] } : {};
  return present({ role, content: contentOf(message['content'], form), ...answers, ...callId, name: typeof name === 'string' ? name : null });
}

/** A template that goes through parts gets parts, of one text too. */
function contentOf(content: unknown, form: ContentForm): unknown {
  const parts = typeof content === 'string' ? [content] : listIn(content).map((part) => (typeof part === 'string' ? part : fieldsIn(part)['text']));
  const texts = parts.map((text) => (typeof text === 'string' ? text : ''));
  return form === 'text' ? texts.join('\n') : texts.map((text) => ({ type: 'text', text }));
}

function callsOf(calls: unknown): Fields {
  return Array.isArray(calls) ? { tool_calls: calls.map(callOf) } : {};
}

/** A call's arguments come as JSON text and reach the template as an object. */
function callOf(call: unknown): Fields {
  const fields = fieldsIn(call);
  const called = fieldsIn(fields['function']);
  const given = called['arguments'];
  const parsed: unknown = typeof given === 'string' && given !== '' ? JSON.parse(given) : given === '' ? {} : (given ?? {});
  return { ...fields, function: { ...called, arguments: parsed } };
}

function thoughtsOf({ reasoning, reasoning_content }: Fields): Fields {
  const thoughts = reasoning ?? reasoning_content;
  return { reasoning: thoughts, reasoning_content: thoughts };
}

/** In the order of vLLM's models; what they don't know stays behind it. */
function toolOf(tool: unknown): Fields {
  const { type, function: described, ...others } = fieldsIn(tool);
  const { name, description, parameters, ...more } = fieldsIn(described);
  return { type: type ?? 'function', function: { name, description: description ?? null, parameters: parameters ?? null, ...more }, ...others };
}

function lastText(message: Fields | undefined): string {
  const content = message?.['content'];
  if (typeof content === 'string') return content;
  const text = fieldsIn(listIn(content).at(-1))['text'];
  return typeof text === 'string' ? text : '';
}
