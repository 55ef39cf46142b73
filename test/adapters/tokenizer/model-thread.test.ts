import { afterEach, describe, expect, it } from 'vitest';
import { ModelThread } from '../../../src/adapters/tokenizer/model-thread.ts';
import type { ModelThreadOptions } from '../../../src/adapters/tokenizer/model-thread.ts';
import { silentLog } from '../../support/silent-log.ts';
import { sglangTiny } from './recorded-prompts.ts';

const never = new AbortController().signal;
const hello = { kind: 'text', text: 'hello' } as const;
const threads: ModelThread[] = [];

afterEach(async () => {
  await Promise.all(threads.splice(0).map((thread) => thread.close()));
});

function opened(options: Partial<ModelThreadOptions> = {}): ModelThread {
  const thread = new ModelThread({ directory: sglangTiny, cacheBytes: 1_000_000, maxWaiting: 10, restartPauseMs: 0, hangMs: 0, ...options }, silentLog);
  threads.push(thread);
  return thread;
}

/** Any silence is a hang for a thread of `hangMs` 0: a caller that gives up ends it, and all that wait are told. */
async function killed(thread: ModelThread): Promise<void> {
  await thread.start();
  const patience = new AbortController();
  const [given, other] = [thread.ask(hello, patience.signal), thread.ask(hello, never)];
  const ended = Promise.allSettled([given, other]);
  await Promise.resolve();
  patience.abort();
  expect(await ended).toMatchObject([{ status: 'rejected', reason: { code: 'deadline-exceeded' } }, { status: 'rejected', reason: { code: 'internal' } }]);
}

describe('a thread that hangs', () => {
  it('is ended, counted, and another takes over', async () => {
    const thread = opened();
    await killed(thread);
    expect((await thread.ask(hello, never)).length).toBe(2);
    expect(thread.deaths).toBe(1);
  });

  it('is not followed at once by another, where they die too often', async () => {
    const thread = opened({ restartPauseMs: 60_000 });
    await killed(thread);
    await expect(thread.ask(hello, never)).rejects.toMatchObject({ code: 'internal' });
  });
});

describe('a thread that many ask', () => {
  it('refuses one more than it may have waiting, and counts it', async () => {
    const thread = opened({ maxWaiting: 2, hangMs: 60_000 });
    await thread.start();
    const asked = await Promise.allSettled([1, 2, 3].map(() => thread.ask(hello, never)));
    expect(asked.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(thread.refused).toBe(1);
  });
});
