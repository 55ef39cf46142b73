import type { CacheNamespace } from './cache-event.ts';

/** A run of pages in the tree. A root is a node without tokens whose `digests` is its namespace's seed. */
export interface RadixNode {
  tokens: Int32Array;
  /** One digest a page. */
  digests: Uint8Array;
  parent: RadixNode | null;
  readonly space: CacheNamespace;
  readonly children: Map<PageKey, RadixNode>;
  /** How many running requests stand on this node or below. */
  locks: number;
  /** The cache's own count of uses, not a time. */
  lastUse: number;
  /** Where it stands in the eviction queue as long as `queued`. */
  queuedAt: number;
  queued: boolean;
}

/** The first page of a child, as a map key. */
export type PageKey = number | string;

/** For pages of one token the token itself: no string is made in SGLang's default setting. */
export function pageKey(tokens: Int32Array, at: number, pageSize: number): PageKey {
  return pageSize === 1 ? (tokens[at] ?? 0) : tokens.subarray(at, at + pageSize).join();
}

export function rootNode(space: CacheNamespace, seed: Uint8Array): RadixNode {
  return { tokens: new Int32Array(0), digests: seed, parent: null, space, children: new Map(), locks: 0, lastUse: 0, queuedAt: 0, queued: false };
}

/** The leading tokens that `node` shares with `tokens` from `at` on, before `end`, in whole pages. */
export function sharedTokens(node: RadixNode, tokens: Int32Array, { at, end, pageSize }: { readonly at: number; readonly end: number; readonly pageSize: number }): number {
  const own = node.tokens;
  const limit = Math.min(own.length, end - at);
  let i = 0;
  while (i < limit && own[i] === tokens[at + i]) i++;
  return i - (i % pageSize);
}

/**
 * Cuts `node` after `length` tokens and returns the new upper part; `node` itself stays the lower one, so whoever
 * holds it still holds the deepest node of its path. Both parts get memory of their own: a view would keep the whole
 * run alive when one part is evicted.
 */
export function splitNode(node: RadixNode, length: number, pageSize: number, digestBytes: number): RadixNode {
  const cut = (length / pageSize) * digestBytes;
  const upper: RadixNode = {
    tokens: node.tokens.slice(0, length),
    digests: node.digests.slice(0, cut),
    parent: node.parent,
    space: node.space,
    children: new Map(),
    locks: node.locks,
    lastUse: node.lastUse,
    queuedAt: 0,
    queued: false,
  };
  node.parent?.children.set(pageKey(upper.tokens, 0, pageSize), upper);
  node.tokens = node.tokens.slice(length);
  node.digests = node.digests.slice(cut);
  node.parent = upper;
  upper.children.set(pageKey(node.tokens, 0, pageSize), node);
  return upper;
}
