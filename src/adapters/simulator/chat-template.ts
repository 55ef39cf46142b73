import { RouterError } from '../../core/router-error.ts';
import { isObject, missingField, type JsonObject } from './json-fields.ts';
import type { specialTokens } from './simulated-tokenizer.ts';

const marks = {
  system: '<|system|>',
  developer: '<|system|>',
  user: '<|user|>',
  assistant: '<|assistant|>',
  tool: '<|tool|>',
  function: '<|tool|>',
} as const satisfies Record<string, (typeof specialTokens)[number]>;

type Role = keyof typeof marks;
const isRole = (role: unknown): role is Role => typeof role === 'string' && role in marks;

/** Text of a message: a string, or the text parts of a list; images have no tokens in this model. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
}

function messageText(message: unknown): string {
  const role = isObject(message) ? message['role'] : null;
  if (!isObject(message) || !isRole(role)) {
    const input = typeof role === 'string' ? role : JSON.stringify(role);
    throw new RouterError('bad-json', `1 validation error:\n  {'type': 'value_error', 'loc': ('body', 'messages', 0, 'role'), 'msg': "Value error, 'role' must be one of 'system', 'user', 'assistant', 'tool', 'function', 'developer'.", 'input': '${input}'}`);
  }
  const calls = Array.isArray(message['tool_calls']) ? JSON.stringify(message['tool_calls']) : '';
  return `${marks[role]}${contentText(message['content'])}${calls}<|end|>`;
}

/** The simulated model's chat template: every message between two special tokens, then the assistant's turn. */
export function renderChat(body: JsonObject): string {
  const messages = body['messages'];
  if (!Array.isArray(messages)) throw missingField('messages');
  if (messages.length === 0) throw new RouterError('bad-request', 'Messages cannot be empty.');
  const tools = Array.isArray(body['tools']) && body['tools'].length > 0 ? `<|system|>${JSON.stringify(body['tools'])}<|end|>` : '';
  return `<|begin|>${tools}${messages.map(messageText).join('')}<|assistant|>`;
}
