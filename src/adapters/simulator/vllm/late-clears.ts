import type { CacheEvent } from '../../../core/engine-model/cache-event.ts';

type Publish = (events: readonly CacheEvent[]) => void;

/**
 * Publishes as vLLM does: no clear when it starts, and a later one only with what the next requests store, in one
 * batch before it. (vLLM's next step that stores nothing would tell it too, alone.)
 */
export function lateClears(publish: Publish): Publish {
  let started = false;
  let waiting: readonly CacheEvent[] = [];
  return (events) => {
    const own = started ? events : events.filter(({ kind }) => kind !== 'cleared');
    started = true;
    waiting = [...waiting, ...own];
    if (waiting.every(({ kind }) => kind === 'cleared')) return;
    publish(waiting);
    waiting = [];
  };
}
