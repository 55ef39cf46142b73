import { messageOf } from '../../core/router-error.ts';
import type { NatsHandle } from './nats-handle.ts';

/** What the decoder makes of a message; null, counted and logged, where it throws: a stranger's message ends no reader. */
export function decodeCounted<T>(handle: NatsHandle, subject: string, decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    handle.counters.undecodable += 1;
    handle.log.warn({ subject, error: messageOf(error) }, 'message-undecodable');
    return null;
  }
}
