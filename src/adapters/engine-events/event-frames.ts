import type { EngineBatch } from '../../core/kv-stream/engine-event.ts';
import { decodeBatch } from './decode-batch.ts';

/** Why a message is no batch: few fixed words, to count by. */
export type BadFrames = 'frame-count' | 'sequence-length' | 'sequence-range' | 'other-topic';

export type FrameReading =
  | { readonly kind: 'batch'; readonly batch: EngineBatch }
  | { readonly kind: 'invalid'; readonly reason: BadFrames }
  /** Only in replays: all that the engine has was sent. */
  | { readonly kind: 'end' };

const invalid = (reason: BadFrames): FrameReading => ({ kind: 'invalid', reason });

/** A message of the event socket: topic, 8 bytes of sequence number (big-endian), payload. An empty topic takes all. */
export function readPublished(frames: readonly Uint8Array[], topic = ''): FrameReading {
  const [said, seq, payload] = frames;
  if (frames.length !== 3 || said === undefined || seq === undefined || payload === undefined) return invalid('frame-count');
  if (topic !== '' && Buffer.from(said).toString() !== topic) return invalid('other-topic');
  const reading = readSequenced(seq, payload);
  return reading.kind === 'end' ? invalid('sequence-range') : reading;
}

/**
 * A reply of the replay socket, as a DEALER sees it: an empty frame, then sequence number and payload, with the topic
 * between where the release sends one (SGLang from 0.5.22, vLLM). The end is the number -1.
 */
export function readReplayed(frames: readonly Uint8Array[]): FrameReading {
  const [delimiter, ...rest] = frames;
  const [seq, payload] = rest.slice(-2);
  if (delimiter?.length !== 0 || rest.length < 2 || rest.length > 3 || seq === undefined || payload === undefined) return invalid('frame-count');
  return readSequenced(seq, payload);
}

function readSequenced(seq: Uint8Array, payload: Uint8Array): FrameReading {
  if (seq.length !== 8) return invalid('sequence-length');
  const value = new DataView(seq.buffer, seq.byteOffset, 8).getBigInt64(0);
  if (value === -1n) return { kind: 'end' };
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) return invalid('sequence-range');
  return { kind: 'batch', batch: decodeBatch(payload, Number(value)) };
}

/** What is asked of the replay socket: an empty frame, without which no answer ever comes, and the first number wanted. */
export function replayRequest(from: number): readonly Uint8Array[] {
  const seq = Buffer.alloc(8);
  seq.writeBigUInt64BE(BigInt(from));
  return [Buffer.alloc(0), seq];
}
