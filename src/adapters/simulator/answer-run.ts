import type { FastifyReply } from 'fastify';
import { Generation, type GenerationSpec } from './generation.ts';
import type { SimulatedEngine } from './simulated-engine.ts';
import { SseStream } from './sse-stream.ts';

function startAll(generations: readonly Generation[]): void {
  try {
    for (const generation of generations) generation.start();
  } catch (error) {
    for (const generation of generations) generation.abort();
    throw error;
  }
}

/** A client that hangs up ends its requests, whatever they are doing. */
function abortOnHangUp(reply: FastifyReply, generations: readonly Generation[]): void {
  reply.raw.on('close', () => {
    for (const generation of generations) generation.abort();
  });
}

/** Runs the answers to their end. */
export async function completeAnswers(engine: SimulatedEngine, specs: readonly GenerationSpec[], reply: FastifyReply, receivedAt: number): Promise<readonly Generation[]> {
  const generations = specs.map((spec) => new Generation(spec, engine, receivedAt, () => undefined));
  startAll(generations);
  abortOnHangUp(reply, generations);
  await Promise.all(generations.map((generation) => generation.done));
  return generations;
}

/** How one endpoint writes a stream. `index` is the answer's place in the request. */
export interface StreamShape {
  /** Whether the head goes out before the first token. */
  readonly headFirst: boolean;
  update(stream: SseStream, generation: Generation, index: number): void;
  /** What comes after the last answer's end, before `[DONE]`. */
  end(stream: SseStream, generations: readonly Generation[]): void;
}

/** Streams the answers as they grow; resolves when the last is over. Throws before anything was sent, or not at all. */
export async function streamAnswers(engine: SimulatedEngine, specs: readonly GenerationSpec[], reply: FastifyReply, receivedAt: number, shape: StreamShape): Promise<void> {
  const behind = new Set<number>();
  const generations: Generation[] = [];
  const write = (index: number): void => {
    const generation = generations[index];
    if (generation === undefined || reply.raw.destroyed) return;
    if (stream.congested && generation.finishedRequest === null) behind.add(index);
    else {
      behind.delete(index);
      shape.update(stream, generation, index);
    }
  };
  const stream = new SseStream(reply.raw, () => [...behind].forEach(write));
  specs.forEach((spec, index) => generations.push(new Generation(spec, engine, receivedAt, () => write(index))));
  startAll(generations);
  abortOnHangUp(reply, generations);
  reply.hijack();
  if (shape.headFirst) stream.open();
  await Promise.all(generations.map((generation) => generation.done));
  if (reply.raw.destroyed) return;
  shape.end(stream, generations);
  stream.done();
}
