import type { RadixNode } from './radix-node.ts';

/**
 * Leaves by last use, least first: a binary heap whose entries may be stale. A node used again keeps its old place and
 * is put back when it comes up, one that may not go at that time is dropped and offered again when it may: so a use
 * costs nothing here, and no node is in twice.
 */
export class EvictionQueue {
  readonly #heap: RadixNode[] = [];

  offer(node: RadixNode): void {
    if (node.queued) return;
    node.queued = true;
    this.#push(node);
  }

  /** The least recently used node that `mayGo`, or null. */
  take(mayGo: (node: RadixNode) => boolean): RadixNode | null {
    for (let top = this.#pop(); top !== null; top = this.#pop()) {
      if (!mayGo(top)) top.queued = false;
      else if (top.queuedAt !== top.lastUse) this.#push(top);
      else {
        top.queued = false;
        return top;
      }
    }
    return null;
  }

  clear(): void {
    this.#heap.length = 0;
  }

  #push(node: RadixNode): void {
    node.queuedAt = node.lastUse;
    const heap = this.#heap;
    let at = heap.length;
    heap.push(node);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || parent.queuedAt <= node.queuedAt) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = node;
  }

  #pop(): RadixNode | null {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined) return null;
    if (heap.length > 0) this.#sink(last);
    return top;
  }

  #sink(node: RadixNode): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      if (left === undefined) break;
      const takeRight = right !== undefined && right.queuedAt < left.queuedAt;
      const child = takeRight ? right : left;
      if (child.queuedAt >= node.queuedAt) break;
      heap[at] = child;
      at = 2 * at + (takeRight ? 2 : 1);
    }
    heap[at] = node;
  }
}
