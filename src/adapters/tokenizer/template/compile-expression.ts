import { charactersOf } from './python-text.ts';
import { templateFilters } from './template-filters.ts';
import { dictionaryMethods, textMethods } from './template-methods.ts';
import { childOf, childOrNull, childrenOf, textIn } from './template-node.ts';
import type { TemplateNode } from './template-node.ts';
import type { TemplateScope } from './template-scope.ts';
import { templateTests } from './template-tests.ts';
import { areEqual, isDictionary, isIn, isList, isNumeric, Namespace, TemplateFunction, textOf, truthOf } from './template-value.ts';
import type { Arguments, NamedArguments, TemplateValue } from './template-value.ts';

/** Gives an expression's value where it stands. */
export type Expression = (scope: TemplateScope) => TemplateValue;

/** Throws for what chat templates have not needed yet: better no tokens than others than the engine's. */
export function compileExpression(node: TemplateNode): Expression {
  const compile = compilers[node.type];
  if (compile === undefined) throw new Error(`the template has a ${node.type}`);
  return compile(node);
}

const constant = (node: TemplateNode): Expression => {
  const value: unknown = node['value'];
  return () => value;
};

const compilers: Readonly<Record<string, (node: TemplateNode) => Expression>> = {
  StringLiteral: constant,
  IntegerLiteral: constant,
  FloatLiteral: constant,
  Identifier: (node) => {
    const name = textIn(node, 'value');
    return (scope) => scope.get(name);
  },
  ArrayLiteral: compileList,
  TupleLiteral: compileList,
  ObjectLiteral: compileObject,
  MemberExpression: compileMember,
  CallExpression: compileCall,
  BinaryExpression: compileBinary,
  UnaryExpression: compileUnary,
  FilterExpression: (node) => compileFilter(childOf(node, 'filter'), compileExpression(childOf(node, 'operand'))),
  TestExpression: compileTest,
  Ternary: (node) => choice(childOf(node, 'condition'), childOf(node, 'trueExpr'), childOf(node, 'falseExpr')),
  // `a if b`, without an else.
  SelectExpression: (node) => choice(childOf(node, 'test'), childOf(node, 'lhs'), null),
};

function choice(condition: TemplateNode, then: TemplateNode, otherwise: TemplateNode | null): Expression {
  const [test, yes] = [compileExpression(condition), compileExpression(then)];
  const no: Expression = otherwise === null ? () => undefined : compileExpression(otherwise);
  return (scope) => (truthOf(test(scope)) ? yes(scope) : no(scope));
}

function compileList(node: TemplateNode): Expression {
  const items = childrenOf(node, 'value').map(compileExpression);
  return (scope) => items.map((item) => item(scope));
}

function compileObject(node: TemplateNode): Expression {
  const entries = node['value'] instanceof Map ? Array.from(node['value'], (entry) => childrenOf({ type: 'entry', entry }, 'entry').map(compileExpression)) : [];
  return (scope) => Object.fromEntries(entries.map(([name, value]) => [textOf(name?.(scope)), value?.(scope)]));
}

function compileMember(node: TemplateNode): Expression {
  const object = compileExpression(childOf(node, 'object'));
  const property = childOf(node, 'property');
  if (property.type === 'SliceExpression') return compileSlice(object, property);
  if (node['computed'] === true) {
    const key = compileExpression(property);
    return (scope) => memberOf(object(scope), key(scope), 'item');
  }
  const name: unknown = property['value'];
  return (scope) => memberOf(object(scope), name, 'attribute');
}

/** Jinja looks for `a.b` among methods first, for `a['b']` among entries. */
function memberOf(object: TemplateValue, key: TemplateValue, by: 'attribute' | 'item'): TemplateValue {
  if (object === undefined) throw new Error(`the template asks something undefined for ${textOf(key)}`);
  if (object instanceof Namespace) return object.values.get(textOf(key));
  if (typeof key === 'number') return isList(object) ? object.at(key) : typeof object === 'string' ? charactersOf(object).at(key) : undefined;
  if (typeof key !== 'string') return undefined;
  if (typeof object === 'string') return textMethod(object, key);
  if (!isDictionary(object)) return isList(object) ? refusedMethod(key) : undefined;
  const method = dictionaryMethods.get(key);
  const held = Object.hasOwn(object, key);
  if (method === undefined || (held && by === 'item')) return held ? object[key] : undefined;
  return new TemplateFunction((args) => method(object, args));
}

function textMethod(text: string, name: string): TemplateValue {
  const method = textMethods.get(name);
  return method === undefined ? undefined : new TemplateFunction((args, named) => method(text, args, named));
}

function refusedMethod(name: string): never {
  throw new Error(`the template asks a list for ${name}`);
}

function compileSlice(object: Expression, node: TemplateNode): Expression {
  const [start, stop, step] = ['start', 'stop', 'step'].map((part) => {
    const bound = childOrNull(node, part);
    return bound === null ? () => null : compileExpression(bound);
  });
  return (scope) => {
    const value = object(scope);
    const items = typeof value === 'string' ? charactersOf(value) : value;
    if (!isList(items)) throw new Error('the template cuts something that is no list');
    const cut = sliced(items, boundIn(start?.(scope)), boundIn(stop?.(scope)), boundIn(step?.(scope)) ?? 1);
    return typeof value === 'string' ? cut.join('') : cut;
  };
}

function boundIn(value: TemplateValue): number | null {
  if (value === null || typeof value === 'number') return value;
  throw new Error('the template cuts at something that is no number');
}

function sliced(items: readonly TemplateValue[], start: number | null, stop: number | null, step: number): readonly TemplateValue[] {
  if (step === 1) return items.slice(start ?? 0, stop ?? items.length);
  if (step === -1 && start === null && stop === null) return [...items].reverse();
  throw new Error(`the template cuts in steps of ${step}`);
}

function compileArguments(node: TemplateNode): (scope: TemplateScope) => { readonly args: Arguments; readonly named: NamedArguments } {
  const given = childrenOf(node, 'args');
  const positional = given.filter(({ type }) => type !== 'KeywordArgumentExpression').map(compileExpression);
  const keywords = given
    .filter(({ type }) => type === 'KeywordArgumentExpression')
    .map((argument) => ({ name: textIn(childOf(argument, 'key'), 'value'), value: compileExpression(childOf(argument, 'value')) }));
  return (scope) => ({ args: positional.map((value) => value(scope)), named: new Map(keywords.map(({ name, value }) => [name, value(scope)])) });
}

function compileCall(node: TemplateNode): Expression {
  const callee = compileExpression(childOf(node, 'callee'));
  const given = compileArguments(node);
  return (scope) => {
    const called = callee(scope);
    if (!(called instanceof TemplateFunction)) throw new Error('the template calls something that is not known here');
    const { args, named } = given(scope);
    return called.call(args, named);
  };
}

/** Of an expression, or of a `filter` block's text. */
export function compileFilter(filter: TemplateNode, operand: Expression): Expression {
  const called = filter.type === 'CallExpression';
  const name = textIn(called ? childOf(filter, 'callee') : filter, 'value');
  const apply = templateFilters.get(name);
  if (apply === undefined) throw new Error(`the template has a filter ${name}`);
  if (!called) return (scope) => apply(operand(scope), [], noNames);
  const given = compileArguments(filter);
  return (scope) => {
    const { args, named } = given(scope);
    return apply(operand(scope), args, named);
  };
}

const noNames: NamedArguments = new Map();

function compileTest(node: TemplateNode): Expression {
  const operand = compileExpression(childOf(node, 'operand'));
  const name = textIn(childOf(node, 'test'), 'value');
  const test = templateTests.get(name);
  if (test === undefined) throw new Error(`the template has a test ${name}`);
  const wanted = node['negate'] !== true;
  return (scope) => test(operand(scope)) === wanted;
}

function compileUnary(node: TemplateNode): Expression {
  const argument = compileExpression(childOf(node, 'argument'));
  const sign = textIn(childOf(node, 'operator'), 'value');
  if (sign === 'not') return (scope) => !truthOf(argument(scope));
  if (sign !== '-' && sign !== '+') throw new Error(`the template has an operator ${sign}`);
  return (scope) => (sign === '-' ? -1 : 1) * numberOf(argument(scope));
}

function compileBinary(node: TemplateNode): Expression {
  const [left, right] = [compileExpression(childOf(node, 'left')), compileExpression(childOf(node, 'right'))];
  const sign = textIn(childOf(node, 'operator'), 'value');
  if (sign === 'and' || sign === 'or') {
    return (scope) => {
      const value = left(scope);
      return truthOf(value) === (sign === 'or') ? value : right(scope);
    };
  }
  const operate = operators[sign];
  if (operate === undefined) throw new Error(`the template has an operator ${sign}`);
  return (scope) => operate(left(scope), right(scope));
}

const operators: Readonly<Record<string, (a: TemplateValue, b: TemplateValue) => TemplateValue>> = {
  '==': areEqual,
  '!=': (a, b) => !areEqual(a, b),
  in: isIn,
  'not in': (a, b) => !isIn(a, b),
  '~': (a, b) => textOf(a) + textOf(b),
  '+': sum,
  '-': (a, b) => numberOf(a) - numberOf(b),
  '*': (a, b) => numberOf(a) * numberOf(b),
  '//': (a, b) => Math.floor(numberOf(a) / nonZero(b)),
  // Python's remainder has the sign of what it is divided by.
  '%': (a, b) => numberOf(a) - nonZero(b) * Math.floor(numberOf(a) / nonZero(b)),
  '<': (a, b) => numberOf(a) < numberOf(b),
  '>': (a, b) => numberOf(a) > numberOf(b),
  '<=': (a, b) => numberOf(a) <= numberOf(b),
  '>=': (a, b) => numberOf(a) >= numberOf(b),
};

function sum(a: TemplateValue, b: TemplateValue): TemplateValue {
  if (typeof a === 'string' && typeof b === 'string') return a + b;
  if (isList(a) && isList(b)) return [...a, ...b];
  return numberOf(a) + numberOf(b);
}

/** Python refuses to add or compare what is no number, and so the engine refuses the request. */
function numberOf(value: TemplateValue): number {
  if (isNumeric(value)) return Number(value);
  throw new Error('the template computes with something that is no number');
}

function nonZero(value: TemplateValue): number {
  const number = numberOf(value);
  if (number === 0) throw new Error('the template divides by zero');
  return number;
}
