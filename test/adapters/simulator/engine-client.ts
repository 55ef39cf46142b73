import { connect, type Socket } from 'node:net';
import { decode } from '@msgpack/msgpack';
import { Dealer, Subscriber } from 'zeromq';
import type { RunningEngine } from '../../../src/main/start-engine.ts';

export async function post(engine: RunningEngine, path: string, body: unknown, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(engine.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), signal });
}

export const tokens = (seed: number, count: number): number[] => Array.from({ length: count }, (_, i) => (seed * 7919 + i * 31) % 49_000);

interface Load {
  readonly dp_rank: number;
  readonly num_running_reqs: number;
  readonly num_waiting_reqs: number;
  readonly num_used_tokens: number;
}

/** Asks for loads until all ranks together are as wanted. */
export async function loadsUntil(engine: RunningEngine, wanted: (loads: readonly Load[]) => boolean): Promise<readonly Load[]> {
  for (;;) {
    const { loads } = (await (await fetch(`${engine.url}/v1/loads?include=core`)).json()) as { loads: Load[] };
    if (wanted(loads)) return loads;
  }
}

export const freed = (loads: readonly Load[]): boolean => loads.every((load) => load.num_running_reqs + load.num_waiting_reqs + load.num_used_tokens === 0);

export interface ReceivedBatch {
  readonly topic: string;
  readonly seq: number;
  readonly ts: number;
  readonly events: readonly unknown[];
  readonly rank: number;
}

function batchOf(topic: Uint8Array, seq: Buffer, payload: Uint8Array): ReceivedBatch {
  const [ts, events, rank] = decode(payload, { useBigInt64: true }) as [number, unknown[], number];
  return { topic: Buffer.from(topic).toString(), seq: Number(seq.readBigInt64BE()), ts, events, rank };
}

/** A plain subscriber of one rank's events. */
export class EventReader {
  readonly #socket = new Subscriber();

  constructor(engine: RunningEngine, rank = 0) {
    this.#socket.connect(`tcp://127.0.0.1:${engine.kvPort + rank}`);
    this.#socket.subscribe();
  }

  async next(): Promise<ReceivedBatch> {
    const [topic, seq, payload] = await this.#socket.receive();
    if (topic === undefined || seq === undefined || payload === undefined) throw new Error('a batch has three frames');
    return batchOf(topic, seq, payload);
  }

  close(): void {
    this.#socket.close();
  }
}

/** All answers to one replay request, as frames after the delimiter, its end included. */
export async function replayFrames(engine: RunningEngine, from: number, rank = 0): Promise<Buffer[][]> {
  const dealer = new Dealer();
  dealer.connect(`tcp://127.0.0.1:${engine.replayPort + rank}`);
  const start = Buffer.alloc(8);
  start.writeBigInt64BE(BigInt(from));
  await dealer.send(['', start]);
  const answers: Buffer[][] = [];
  for await (const [, ...frames] of dealer) {
    answers.push(frames);
    if (frames.at(-1)?.length === 0) break;
  }
  dealer.close();
  return answers;
}

export const replayedBatch = (frames: readonly Buffer[]): ReceivedBatch => {
  const [topic, seq, payload] = frames.length === 3 ? frames : [Buffer.alloc(0), ...frames];
  if (topic === undefined || seq === undefined || payload === undefined) throw new Error('a replayed batch has two frames or three');
  return batchOf(topic, seq, payload);
};

/** A POST on a socket of its own, so that a test can hang up on it. */
export function rawPost(engine: RunningEngine, path: string, body: unknown): Socket {
  const { hostname, port } = new URL(engine.url);
  const text = JSON.stringify(body);
  const socket = connect(Number(port), hostname);
  socket.write(`POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  return socket;
}
