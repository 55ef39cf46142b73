import { compileExpression, compileFilter } from './compile-expression.ts';
import type { Expression } from './compile-expression.ts';
import { childOf, childOrNull, childrenOf, textIn } from './template-node.ts';
import type { TemplateNode } from './template-node.ts';
import { TemplateScope } from './template-scope.ts';
import { itemsOf, isList, Namespace, TemplateFunction, textOf, truthOf } from './template-value.ts';
import type { TemplateValue } from './template-value.ts';

/** Writes to `out`. What it gives says how a loop around it goes on. */
export type Statements = (scope: TemplateScope, out: string[]) => LoopStep;

type LoopStep = 'next' | 'break' | 'continue';

export function compileStatements(nodes: readonly TemplateNode[]): Statements {
  const statements = nodes.map(compileStatement);
  return (scope, out) => {
    for (const statement of statements) {
      const step = statement(scope, out);
      if (step !== 'next') return step;
    }
    return 'next';
  };
}

function compileStatement(node: TemplateNode): Statements {
  const compile = compilers[node.type];
  return compile === undefined ? printed(compileExpression(node)) : compile(node);
}

const printed = (expression: Expression): Statements => (scope, out) => {
  out.push(textOf(expression(scope)));
  return 'next';
};

const compilers: Readonly<Record<string, (node: TemplateNode) => Statements>> = {
  If: compileIf,
  For: compileFor,
  Set: compileSet,
  Macro: compileMacro,
  FilterStatement: compileFilterBlock,
  Comment: () => () => 'next',
  Break: () => () => 'break',
  Continue: () => () => 'continue',
};

function compileIf(node: TemplateNode): Statements {
  const test = compileExpression(childOf(node, 'test'));
  const [then, otherwise] = [compileStatements(childrenOf(node, 'body')), compileStatements(childrenOf(node, 'alternate'))];
  return (scope, out) => (truthOf(test(scope)) ? then : otherwise)(scope, out);
}

function compileFor(node: TemplateNode): Statements {
  const through = childOf(node, 'iterable');
  const filtered = through.type === 'SelectExpression';
  const items = compileExpression(filtered ? childOf(through, 'lhs') : through);
  const test = filtered ? compileExpression(childOf(through, 'test')) : null;
  const bind = compileTarget(childOf(node, 'loopvar'));
  const [body, otherwise] = [compileStatements(childrenOf(node, 'body')), compileStatements(childrenOf(node, 'defaultBlock'))];
  return (scope, out) => {
    const all = itemsOf(items(scope));
    const chosen = test === null ? all : all.filter((item) => truthOf(test(bound(scope, bind, item))));
    // Jinja goes by whether any turn came to its end, so one that only broke off counts as none.
    let ended = false;
    for (const [place, item] of chosen.entries()) {
      const inner = bound(scope, bind, item);
      inner.set('loop', loopAt(chosen, place));
      const step = body(inner, out);
      if (step === 'next') ended = true;
      if (step === 'break') break;
    }
    return ended ? 'next' : otherwise(scope, out);
  };
}

/** What is set in a loop's body is gone with its turn, as in Jinja. */
function bound(scope: TemplateScope, bind: Bind, item: TemplateValue): TemplateScope {
  const inner = new TemplateScope(scope);
  bind(inner, item);
  return inner;
}

function loopAt(items: readonly TemplateValue[], place: number): TemplateValue {
  const { length } = items;
  return {
    index: place + 1, index0: place, revindex: length - place, revindex0: length - place - 1,
    first: place === 0, last: place === length - 1, length, previtem: items[place - 1], nextitem: items[place + 1],
  };
}

type Bind = (scope: TemplateScope, value: TemplateValue) => void;

/** A name, several for a list's items, or a namespace's attribute. */
function compileTarget(node: TemplateNode): Bind {
  if (node.type === 'Identifier') {
    const name = textIn(node, 'value');
    return (scope, value) => scope.set(name, value);
  }
  if (node.type === 'TupleLiteral') {
    const targets = childrenOf(node, 'value').map(compileTarget);
    return (scope, value) => {
      if (!isList(value) || value.length !== targets.length) throw new Error('the template takes a list apart that has another length');
      targets.forEach((target, place) => target(scope, value[place]));
    };
  }
  if (node.type !== 'MemberExpression' || node['computed'] === true) throw new Error(`the template sets a ${node.type}`);
  const object = compileExpression(childOf(node, 'object'));
  const name = textIn(childOf(node, 'property'), 'value');
  return (scope, value) => {
    const space = object(scope);
    if (!(space instanceof Namespace)) throw new Error(`the template sets ${name} of what is no namespace`);
    space.values.set(name, value);
  };
}

function compileSet(node: TemplateNode): Statements {
  const bind = compileTarget(childOf(node, 'assignee'));
  const given = childOrNull(node, 'value');
  const value = given === null ? written(compileStatements(childrenOf(node, 'body'))) : compileExpression(given);
  return (scope) => {
    bind(scope, value(scope));
    return 'next';
  };
}

const written = (body: Statements): Expression => (scope) => {
  const out: string[] = [];
  body(new TemplateScope(scope), out);
  return out.join('');
};

function compileFilterBlock(node: TemplateNode): Statements {
  return printed(compileFilter(childOf(node, 'filter'), written(compileStatements(childrenOf(node, 'body')))));
}

function compileMacro(node: TemplateNode): Statements {
  const name = textIn(childOf(node, 'name'), 'value');
  const parameters = childrenOf(node, 'args').map(compileParameter);
  const body = compileStatements(childrenOf(node, 'body'));
  return (scope) => {
    const macro = new TemplateFunction((args, named) => {
      if (args.length > parameters.length) throw new Error(`the template hands macro ${name} too much`);
      const inner = new TemplateScope(scope);
      parameters.forEach((parameter, place) => {
        const given = place < args.length ? args[place] : named.get(parameter.name);
        inner.set(parameter.name, given === undefined ? parameter.otherwise(inner) : given);
      });
      const out: string[] = [];
      body(inner, out);
      return out.join('');
    });
    scope.set(name, macro);
    return 'next';
  };
}

function compileParameter(node: TemplateNode): { readonly name: string; readonly otherwise: Expression } {
  if (node.type === 'KeywordArgumentExpression') return { name: textIn(childOf(node, 'key'), 'value'), otherwise: compileExpression(childOf(node, 'value')) };
  return { name: textIn(node, 'value'), otherwise: () => undefined };
}
