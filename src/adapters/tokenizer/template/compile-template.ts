import { compileStatements } from './compile-statements.ts';
import { childrenOf } from './template-node.ts';
import type { TemplateNode } from './template-node.ts';
import { globalScope, TemplateScope } from './template-scope.ts';

export type RenderTemplate = (names: Readonly<Record<string, unknown>>) => string;

/**
 * A parsed template as a function, with Python's meaning of everything in it: `@huggingface/jinja` parses well, but strips more
 * than it is told to and lets a loop's names outlive their turn; and it takes 2 to 5 ms for 128 KB in 64 messages, this 0.3 to 0.5.
 * Throws for a construct that is not known here.
 */
export function compileTemplate(parsed: TemplateNode, now: () => Date = () => new Date()): RenderTemplate {
  const statements = compileStatements(childrenOf(parsed, 'body'));
  const globals = globalScope(now);
  return (names) => {
    const scope = new TemplateScope(globals);
    for (const [name, value] of Object.entries(names)) scope.set(name, value);
    const out: string[] = [];
    statements(scope, out);
    return out.join('');
  };
}
