import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compileTemplate } from '../../../../src/adapters/tokenizer/template/compile-template.ts';
import { parseTemplate } from '../../../../src/adapters/tokenizer/template/template-node.ts';
import { fixture } from '../recorded-prompts.ts';
import { modelFolder, realModels } from '../real-tokenizers.ts';

interface Rendered {
  readonly templates: Readonly<Record<string, string>>;
  readonly cases: readonly { readonly template: string; readonly names: Readonly<Record<string, unknown>>; readonly rendered: string | null }[];
}

const rendered = JSON.parse(readFileSync(fixture('rendered-templates.json'), 'utf8')) as Rendered;

const ofModel = (model: (typeof realModels)[number]): string => (JSON.parse(readFileSync(join(modelFolder(model), 'tokenizer_config.json'), 'utf8')) as { readonly chat_template: string }).chat_template;
const templates: Readonly<Record<string, string>> = { ...rendered.templates, ...Object.fromEntries(realModels.map((model) => [model, ofModel(model)])) };

const render = (source: string, names: Readonly<Record<string, unknown>> = {}): string => compileTemplate(parseTemplate(source), () => new Date(2026, 0, 5, 9, 7))(names);

describe('a template renders what Python renders', () => {
  it.each(Object.keys(templates))('%s, and throws where Python throws', (name) => {
    const cases = rendered.cases.filter(({ template }) => template === name);
    expect(cases.length).toBeGreaterThan(5);
    const compiled = compileTemplate(parseTemplate(templates[name] ?? ''));
    for (const { names, rendered: expected } of cases) {
      if (expected === null) expect(() => compiled(names), JSON.stringify(names)).toThrow();
      else expect(compiled(names), JSON.stringify(names)).toBe(expected);
    }
  });
});

describe('a template', () => {
  it('strips no more than it is told to', () => {
    expect(render(`{{ x.lstrip('\\n') }}`, { x: '\n  a' })).toBe('  a');
  });

  it('forgets what a loop\'s turn has set', () => {
    expect(render('{% for i in range(2) %}{{ seen is defined }}{% set seen = 1 %}{% endfor %}')).toBe('FalseFalse');
  });

  it('writes the date as Python does', () => {
    expect(render(`{{ strftime_now('%d %b %Y %H:%M') }}`)).toBe('05 Jan 2026 09:07');
  });

  it('is refused when it is read, if there is something in it that is not known here', () => {
    expect(() => render('{{ x | rainbow }}')).toThrow(/filter rainbow/);
    expect(() => render('{{ x is rainbow }}')).toThrow(/test rainbow/);
    expect(() => render('{% call x() %}{% endcall %}')).toThrow(/CallStatement/);
  });

  it('throws rather than print what Python prints in a way of its own', () => {
    expect(() => render('{{ x }}', { x: [1] })).toThrow();
    expect(() => render('{{ x | tojson(sort_keys=true) }}', { x: {} })).toThrow(/sort_keys/);
  });
});
