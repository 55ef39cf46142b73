import { RouterError } from '../router-error.ts';
import type { CacheEvent, CacheNamespace } from './cache-event.ts';
import { CacheEventQueue } from './cache-event-queue.ts';
import { EvictionQueue } from './eviction-queue.ts';
import type { PageHasher } from './page-hasher.ts';
import { pageKey, rootNode, sharedTokens, splitNode, type RadixNode } from './radix-node.ts';

export interface RadixCacheOptions {
  readonly pageSize: number;
  readonly capacityTokens: number;
  readonly hasher: PageHasher;
}

/** A path in the tree: its deepest node, and the tokens from the root to that node's end. */
export interface CachePath {
  readonly node: RadixNode;
  readonly tokens: number;
}

export interface TokenSpan {
  readonly tokens: Int32Array;
  /** How many of them count, from the first. */
  readonly length: number;
}

const namespaceKey = (space: CacheNamespace): string => JSON.stringify([space.salt ?? '', space.extraKey ?? '']);

/**
 * SGLang's radix cache: runs of whole pages in a tree for each namespace, one token pool for the tree and for what
 * running requests hold outside of it. Room is made by evicting unlocked leaves, least recently used first. Splits are
 * silent; stores, removals and clears are told.
 */
export class RadixCache {
  readonly #pageSize: number;
  readonly #capacity: number;
  readonly #hasher: PageHasher;
  readonly #roots = new Map<string, RadixNode>();
  readonly #queue = new EvictionQueue();
  readonly #events: CacheEventQueue;
  #uses = 0;
  #treeTokens = 0;
  #lockedTokens = 0;
  #heldTokens = 0;
  #evictedTokens = 0;

  constructor({ pageSize, capacityTokens, hasher }: RadixCacheOptions) {
    this.#pageSize = pageSize;
    this.#capacity = capacityTokens;
    this.#hasher = hasher;
    this.#events = new CacheEventQueue(hasher.digestBytes);
    // SGLang resets its tree in the constructor, which is why a clear leads every stream.
    this.#events.cleared();
  }

  /** Tokens in the tree, of them on paths that running requests stand on, and tokens held outside of the tree. */
  get usage(): { readonly treeTokens: number; readonly lockedTokens: number; readonly heldTokens: number } {
    return { treeTokens: this.#treeTokens, lockedTokens: this.#lockedTokens, heldTokens: this.#heldTokens };
  }

  /** Tokens that had to go since the start, to make room for others. */
  get evictedTokens(): number {
    return this.#evictedTokens;
  }

  /** Tokens that could be had at once: free ones and those that may be evicted. */
  get obtainableTokens(): number {
    return this.#capacity - this.#heldTokens - this.#lockedTokens;
  }

  /** How many leading tokens the tree holds; changes nothing. */
  peek(space: CacheNamespace, { tokens, length }: TokenSpan): number {
    let node = this.#roots.get(namespaceKey(space));
    let at = 0;
    while (node !== undefined && at + this.#pageSize <= length) {
      const child = node.children.get(pageKey(tokens, at, this.#pageSize));
      const shared = child === undefined ? 0 : sharedTokens(child, tokens, { at, end: length, pageSize: this.#pageSize });
      at += shared;
      node = child !== undefined && shared === child.tokens.length ? child : undefined;
    }
    return at;
  }

  /** The longest path that the tree holds; it counts as used now, and ends at a node's end (a longer node is split). */
  match(space: CacheNamespace, span: TokenSpan): CachePath {
    this.#uses++;
    const root = this.#roots.get(namespaceKey(space)) ?? rootNode(space, this.#hasher.seed(space.salt));
    return this.#walk(root, span);
  }

  /** Makes the tree hold the span, which must be whole pages. The room must have been made before. */
  insert(space: CacheNamespace, span: TokenSpan, sessionId: string | null): CachePath {
    this.#uses++;
    const key = namespaceKey(space);
    const root = this.#roots.get(key) ?? rootNode(space, this.#hasher.seed(space.salt));
    const path = this.#walk(root, span);
    if (path.tokens >= span.length) return path;
    this.#roots.set(key, root);
    return { node: this.#append(path, span, sessionId), tokens: span.length };
  }

  lock(node: RadixNode): void {
    for (let at: RadixNode = node; at.parent !== null; at = at.parent) {
      if (at.locks++ === 0) this.#lockedTokens += at.tokens.length;
    }
  }

  unlock(node: RadixNode): void {
    for (let at: RadixNode = node; at.parent !== null; at = at.parent) {
      if (--at.locks > 0) continue;
      this.#lockedTokens -= at.tokens.length;
      if (at.children.size === 0) this.#queue.offer(at);
    }
  }

  /** Takes tokens for a running request, evicting as needed; false, and nothing changed, when there is not that room. */
  hold(tokens: number): boolean {
    if (tokens > this.obtainableTokens) return false;
    this.evict(this.#heldTokens + this.#treeTokens + tokens - this.#capacity);
    this.#heldTokens += tokens;
    return true;
  }

  /** Evicts whole leaves, least recently used first, until `tokens` were freed or nothing may go. */
  evict(tokens: number): void {
    let freed = 0;
    while (freed < tokens) {
      const node = this.#queue.take((leaf) => leaf.locks === 0 && leaf.children.size === 0);
      if (node === null) return;
      freed += node.tokens.length;
      this.#remove(node);
    }
  }

  release(tokens: number): void {
    this.#heldTokens -= tokens;
  }

  /** Forgets everything. Nothing may be locked. */
  clear(): void {
    if (this.#lockedTokens > 0) throw new RouterError('internal', `cache cleared while ${this.#lockedTokens} tokens are in use`);
    this.#roots.clear();
    this.#queue.clear();
    this.#treeTokens = 0;
    this.#events.cleared();
  }

  /** What happened since the last call, in order. */
  drainEvents(): readonly CacheEvent[] {
    return this.#events.drain();
  }

  #walk(root: RadixNode, { tokens, length }: TokenSpan): CachePath {
    let node = root;
    let at = 0;
    while (at + this.#pageSize <= length) {
      const child = node.children.get(pageKey(tokens, at, this.#pageSize));
      if (child === undefined) break;
      const shared = sharedTokens(child, tokens, { at, end: length, pageSize: this.#pageSize });
      const whole = shared === child.tokens.length;
      // As in SGLang, a run that matches in part counts as used to its end.
      child.lastUse = this.#uses;
      node = whole ? child : splitNode(child, shared, this.#pageSize, this.#hasher.digestBytes);
      at += shared;
      if (!whole) break;
    }
    return { node, tokens: at };
  }

  #append(path: CachePath, span: TokenSpan, sessionId: string | null): RadixNode {
    const { digestBytes } = this.#hasher;
    const parent = path.node;
    const parentDigest = parent.parent === null ? parent.digests : parent.digests.subarray(parent.digests.length - digestBytes);
    const pages = (span.length - path.tokens) / this.#pageSize;
    const tokens = span.tokens.slice(path.tokens, span.length);
    const digests = this.#hasher.hashRun({ tokens, from: 0, pages, pageSize: this.#pageSize, parent: parentDigest });
    const node: RadixNode = { tokens, digests, parent, space: parent.space, children: new Map(), locks: 0, lastUse: this.#uses, queuedAt: 0, queued: false };
    parent.children.set(pageKey(tokens, 0, this.#pageSize), node);
    this.#treeTokens += tokens.length;
    this.#queue.offer(node);
    this.#events.stored({ digests, parent: parent.parent === null ? null : parentDigest.slice(), tokens, salt: node.space.salt, sessionId });
    return node;
  }

  #remove(node: RadixNode): void {
    const { parent } = node;
    if (parent === null) return;
    parent.children.delete(pageKey(node.tokens, 0, this.#pageSize));
    this.#treeTokens -= node.tokens.length;
    this.#evictedTokens += node.tokens.length;
    this.#events.removed(node.digests, node.space.extraKey);
    if (parent.children.size > 0) return;
    if (parent.parent !== null) this.#queue.offer(parent);
    // A namespace without pages is nothing to remember: salts come and go.
    else this.#roots.delete(namespaceKey(parent.space));
  }
}
