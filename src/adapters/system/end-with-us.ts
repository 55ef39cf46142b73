const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** All of this process's, since each signal may have one listener of ours only: two would take each other for others. */
const ends = new Set<() => void>();

/**
 * Runs `end` when this process ends, by itself or by a signal that nobody else here handles, until the returned function
 * is called. `end` must do its work at once. Only SIGKILL can't be seen coming.
 */
export function endWithUs(end: () => void): () => void {
  if (ends.size === 0) listen();
  ends.add(end);
  return () => {
    if (ends.delete(end) && ends.size === 0) unlisten();
  };
}

function listen(): void {
  process.on('exit', endAll);
  for (const signal of signals) process.on(signal, onSignal);
}

function unlisten(): void {
  process.off('exit', endAll);
  for (const signal of signals) process.off(signal, onSignal);
}

function endAll(): void {
  for (const end of ends) end();
}

function onSignal(signal: NodeJS.Signals): void {
  // Whoever else listens decides what the signal means, and stops what it started.
  if (process.listenerCount(signal) > 1) return;
  endAll();
  unlisten();
  process.kill(process.pid, signal);
}
