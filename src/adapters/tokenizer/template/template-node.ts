import { Template } from '@huggingface/jinja';

/** A node of a parsed template: its kind, and its parts under the parser's names. */
export interface TemplateNode {
  readonly type: string;
  readonly [part: string]: unknown;
}

/** With the white space rules of Hugging Face's templates. Throws for what is no template. */
export function parseTemplate(source: string): TemplateNode {
  // The package's own types don't reach further than this under Node's resolution.
  const template: object = new Template(source);
  return asNode('parsed' in template ? template.parsed : null);
}

export function childOf(node: TemplateNode, part: string): TemplateNode {
  return asNode(node[part]);
}

export function childOrNull(node: TemplateNode, part: string): TemplateNode | null {
  return (node[part] ?? null) === null ? null : asNode(node[part]);
}

export function childrenOf(node: TemplateNode, part: string): readonly TemplateNode[] {
  const nodes: unknown = node[part];
  return Array.isArray(nodes) ? nodes.map(asNode) : [];
}

/** A name, a text, or an operator's sign. */
export function textIn(node: TemplateNode, part: string): string {
  const value = node[part];
  if (typeof value !== 'string') throw new Error(`a template's ${node.type} has no text as its ${part}`);
  return value;
}

/** All nodes of this type, in any depth. */
export function* nodesOfType(value: unknown, type: string): Generator<TemplateNode> {
  if (Array.isArray(value) || value instanceof Map) {
    for (const item of value) yield* nodesOfType(item, type);
    return;
  }
  if (!isNode(value)) return;
  if (value.type === type) yield value;
  for (const part of Object.values(value)) yield* nodesOfType(part, type);
}

function asNode(value: unknown): TemplateNode {
  if (isNode(value)) return value;
  throw new Error('a part of the template is missing');
}

const isNode = (value: unknown): value is TemplateNode => typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
