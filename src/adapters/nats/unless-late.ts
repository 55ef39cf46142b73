/**
 * Calls `run` every period until the returned function is called, but not when the timer itself comes late: then this
 * process was held up, what was sent to it still waits unread, and others' silence proves nothing. Never keeps the
 * process alive.
 */
export function everyUnlessLate(periodMs: number, run: (nowMs: number) => void): () => void {
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const late = nowMs - lastMs > 2 * periodMs;
    lastMs = nowMs;
    if (!late) run(nowMs);
  }, periodMs);
  timer.unref();
  return () => clearInterval(timer);
}
