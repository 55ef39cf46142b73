import { Dealer } from 'zeromq';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { EngineBatch } from '../../core/kv-stream/engine-event.ts';
import { readReplayed, replayRequest } from './event-frames.ts';

export interface ReplayOptions {
  readonly from: number;
  /** Longest wait for the next reply. */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
}

/** More than any engine's buffer is set to; beyond it, asking the engine's whole history is not how to catch up. */
const maxBatches = 1_000_000;

/**
 * Asks a replay socket for its batches from `from` on. Null where it is silent for too long, answers with something else
 * or the signal aborts: history that is not whole up to its end marker is of no use.
 */
export async function replayFrom(endpoint: string, options: ReplayOptions): Promise<readonly EngineBatch[] | null> {
  const socket = new Dealer({ linger: 0, receiveTimeout: options.silenceMs, sendTimeout: options.silenceMs });
  const abort = (): void => socket.close();
  options.signal.addEventListener('abort', abort, { once: true });
  try {
    if (options.signal.aborted) return null;
    connect(socket, endpoint);
    await socket.send([...replayRequest(options.from)]);
    return await collect(socket);
  } catch (error) {
    if (error instanceof RouterError) throw error;
    // A timeout, or the socket closed by the signal: to the caller both are "no answer".
    return null;
  } finally {
    options.signal.removeEventListener('abort', abort);
    socket.close();
  }
}

function connect(socket: Dealer, endpoint: string): void {
  try {
    socket.connect(endpoint);
  } catch (error) {
    throw new RouterError('bad-config', `the replay endpoint ${endpoint} can't be connected: ${messageOf(error)}`, { cause: error });
  }
}

async function collect(socket: Dealer): Promise<readonly EngineBatch[] | null> {
  const batches: EngineBatch[] = [];
  while (batches.length < maxBatches) {
    const reading = readReplayed(await socket.receive());
    if (reading.kind === 'end') return batches;
    if (reading.kind === 'invalid') return null;
    batches.push(reading.batch);
  }
  return null;
}
