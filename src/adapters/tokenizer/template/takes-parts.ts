import { childOf, childOrNull, nodesOfType } from './template-node.ts';
import type { TemplateNode } from './template-node.ts';

/** Whether a template goes through the parts of a message's content itself; the engines hand others one text. */
export function goesThroughParts(parsed: TemplateNode): boolean {
  for (const loop of nodesOfType(parsed, 'For')) if (isContentOfMessage(childOf(loop, 'iterable'))) return true;
  return false;
}

const messageNames: ReadonlySet<unknown> = new Set(['message', 'msg', 'm']);

/** `message.content`, `message['content']`, and either behind a filter, a test or a slice. */
function isContentOfMessage(node: TemplateNode): boolean {
  if (node.type === 'SelectExpression') return isContentOfMessage(childOf(node, 'lhs'));
  if (node.type === 'FilterExpression' || node.type === 'TestExpression') return isContentOfMessage(childOf(node, 'operand'));
  if (node.type !== 'MemberExpression') return false;
  const property = childOf(node, 'property');
  if (property.type === 'SliceExpression') return isContentOfMessage(childOf(node, 'object'));
  const object = childOrNull(node, 'object');
  return property['value'] === 'content' && object?.type === 'Identifier' && messageNames.has(object['value']);
}
