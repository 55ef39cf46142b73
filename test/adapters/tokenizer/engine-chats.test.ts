import { describe, expect, it } from 'vitest';
import { ChatTemplate } from '../../../src/adapters/tokenizer/chat-template.ts';
import { prepareSglangChat } from '../../../src/adapters/tokenizer/sglang-chat.ts';
import { prepareVllmChat } from '../../../src/adapters/tokenizer/vllm-chat.ts';

const user = (content: unknown): object => ({ role: 'user', content });
const call = (given: string): object => ({ role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: given } }] });
const parts = [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }];

describe('SGLang', () => {
  const messages = (given: readonly object[], form: 'text' | 'parts' = 'text', more: object = {}): unknown => prepareSglangChat({ messages: given, ...more }, form).messages;

  it('joins text parts with a space, or hands them on to a template that goes through them', () => {
    expect(messages([user(parts)])).toEqual([{ role: 'user', content: 'a b' }]);
    expect(messages([user(parts)], 'parts')).toEqual([{ role: 'user', content: parts }]);
    expect(messages([{ role: 'tool', content: parts }], 'parts')).toEqual([{ role: 'tool', content: 'a b' }]);
  });

  it('knows the fields of its own message models alone, and writes roles small', () => {
    expect(messages([{ role: 'User'.toLowerCase(), content: 'x', name: 'n', extra: 1 }, { role: 'System', content: 'y', name: 'n', extra: 1 }])).toEqual([{ role: 'user', content: 'x' }, { role: 'system', content: 'y', name: 'n' }]);
  });

  it('makes the last answer the user\'s, unless it is to be continued: then its text follows the rendered one', () => {
    const given = [user('q'), { role: 'assistant', content: 'so ' }];
    expect(messages(given)).toEqual([{ role: 'user', content: 'q' }, { role: 'user', content: 'so ' }]);
    expect(prepareSglangChat({ messages: given, continue_final_message: true }, 'text')).toMatchObject({ messages: [{ role: 'user', content: 'q' }], continued: 'so ', addGenerationPrompt: true });
  });

  it('parses the arguments of calls, and refuses what is no object', () => {
    expect(messages([call('{"a":1}'), user('x')])).toEqual([{ role: 'assistant', content: '', tool_calls: [{ id: 'c', index: null, type: 'function', function: { name: 'f', arguments: { a: 1 } } }] }, { role: 'user', content: 'x' }]);
    expect(() => messages([call('[1]'), user('x')])).toThrow();
    expect(() => messages([call('{'), user('x')])).toThrow();
  });

  it('dumps tools in the order and with the defaults of its models, and only the one that is chosen', () => {
    const tools = [{ function: { name: 'f', description: 'd', odd: 1 } }, { type: 'function', function: { parameters: {}, name: 'g', strict: true } }];
    const f = { type: 'function', function: { description: 'd', name: 'f', parameters: null, strict: false }, defer_loading: null };
    const g = { type: 'function', function: { description: null, name: 'g', parameters: {}, strict: true }, defer_loading: null };
    const of = (more: object): unknown => prepareSglangChat({ messages: [user('x')], tools, ...more }, 'text').tools;
    expect(JSON.stringify(of({}))).toBe(JSON.stringify([f, g]));
    expect(of({ tool_choice: 'none' })).toBeNull();
    expect(of({ tool_choice: { type: 'function', function: { name: 'g' } } })).toEqual([g]);
  });

  it('tells the template whether to think under each name that models look for', () => {
    const names = (more: object): unknown => prepareSglangChat({ messages: [user('x')], ...more }, 'text').names;
    expect(names({ reasoning_effort: 'none' })).toEqual({ reasoning_effort: 'none', thinking: false, enable_thinking: false });
    expect(names({ reasoning: { enabled: true }, chat_template_kwargs: { thinking: false } })).toEqual({ thinking: false, enable_thinking: true });
    expect(names({ chat_template_kwargs: { reasoning_effort: 'low', x: 1 } })).toEqual({ reasoning_effort: 'low', x: 1 });
  });
});

describe('vLLM', () => {
  const messages = (given: readonly object[], form: 'text' | 'parts' = 'text'): unknown => prepareVllmChat({ messages: given }, form).messages;

  it('joins text parts with a new line, and makes parts of a text for a template that goes through them', () => {
    expect(messages([user(parts)])).toEqual([{ role: 'user', content: 'a\nb' }]);
    expect(messages([user('a')], 'parts')).toEqual([{ role: 'user', content: [{ type: 'text', text: 'a' }] }]);
  });

  it('parses the arguments of calls', () => {
    expect(messages([call('{"a":1}')])).toMatchObject([{ tool_calls: [{ function: { arguments: { a: 1 } } }] }]);
    expect(messages([call('')])).toMatchObject([{ tool_calls: [{ function: { arguments: {} } }] }]);
  });

  it('is asked itself where the request brings a template', () => {
    expect(() => prepareVllmChat({ messages: [user('x')], chat_template: '{{ 1 }}' }, 'text')).toThrow(/template of its own/);
  });
});

describe('a continued message', () => {
  const template = new ChatTemplate('{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}', {});
  const fields = { messages: [user('q'), { role: 'assistant', content: ' so ' }], continue_final_message: true, add_generation_prompt: false };

  it('ends the text: with SGLang as it is, with vLLM where the template put it', () => {
    expect(template.render(fields, 'sglang')).toBe('<user>q</><assistant> so ');
    expect(template.render(fields, 'vllm')).toBe('<user>q</><assistant> so ');
  });
});
