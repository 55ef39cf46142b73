import type { Clock } from '../../ports/clock.ts';

/** Real time. Timers never keep the process alive. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  isoNow: () => new Date().toISOString(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
  every(periodMs, run) {
    const timer = setInterval(run, periodMs);
    timer.unref();
    return () => clearInterval(timer);
  },
};
