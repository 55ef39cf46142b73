import { rates8bOnH100 } from '../core/engine-model/step-timing.ts';
import { RouterError } from '../core/router-error.ts';
import type { Log } from '../ports/log.ts';
import { openEventSockets } from '../adapters/simulator/event-ports.ts';
import { engineWire, type EngineWireName } from '../adapters/simulator/engine-wire.ts';
import { SimulatedEngine, type SimulatedEngineOptions } from '../adapters/simulator/simulated-engine.ts';
import { listen, simulatedServer } from '../adapters/simulator/simulated-server.ts';
import { mostVocabulary } from '../adapters/simulator/simulated-tokenizer.ts';
import { warmUp } from '../adapters/simulator/warm-up.ts';
import { systemClock } from '../adapters/system/system-clock.ts';

export interface EngineOptions extends Omit<SimulatedEngineOptions, 'wire'> {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** First of the event ports; rank r is at this plus r, replay sockets follow. Null: free ones. */
  readonly kvPort: number | null;
  readonly dpSize: number;
  readonly wire: EngineWireName;
}

export const engineDefaults: EngineOptions = {
  host: '127.0.0.1',
  port: 0,
  modelName: 'kinroute-sim',
  pageSize: 1,
  kvTokens: 430_000,
  dpSize: 1,
  kvPort: null,
  wire: '0.5.23',
  speed: 1,
  chunkTokens: 8192,
  maxRunning: 256,
  contextLength: 262_144,
  vocabSize: 151_936,
  rates: rates8bOnH100,
  cacheReport: true,
  incrementalStreaming: false,
  apiKey: null,
  topic: 'kv-events',
  bufferSteps: 10_000,
};

export interface RunningEngine {
  readonly url: string;
  /** Rank 0's event socket; rank r is at this plus r. */
  readonly kvPort: number;
  readonly replayPort: number;
  close(): Promise<void>;
}

function check({ pageSize, kvTokens, vocabSize, chunkTokens }: EngineOptions): void {
  if (kvTokens < 2 * pageSize) throw new RouterError('bad-config', `${kvTokens} KV tokens are less than two pages of ${pageSize}: give more --kv-tokens or a smaller --page-size`);
  if (chunkTokens < pageSize) throw new RouterError('bad-config', `chunks of ${chunkTokens} tokens are less than a page of ${pageSize}: give a larger --chunk-tokens`);
  if (vocabSize < 512 || vocabSize > mostVocabulary) throw new RouterError('bad-config', `a vocabulary of ${vocabSize} is not possible: give 512 to ${mostVocabulary}`);
}

/** Starts a simulated SGLang (or vLLM) server and resolves when it serves. Rejects with `bad-config` or `port-in-use`. */
export async function startEngine(options: Partial<EngineOptions>, log: Log): Promise<RunningEngine> {
  const all = { ...engineDefaults, ...options };
  check(all);
  const wire = engineWire[all.wire];
  const sockets = await openEventSockets({ ...all, ranks: all.dpSize, topicInReplay: wire.topicInReplay }, log);
  const engine = new SimulatedEngine({ ...all, wire }, sockets, systemClock);
  const app = simulatedServer(engine);
  const close = async (): Promise<void> => {
    engine.close();
    await app.close();
    await Promise.all(sockets.publishers.map((publisher) => publisher.close()));
  };
  try {
    if (wire.startTold) await warmUp(engine);
    const url = await listen(app, all.host, all.port);
    log.info({ url, kvPort: sockets.kvPort, ranks: all.dpSize, pageSize: all.pageSize, wire: all.wire }, 'engine-ready');
    return { url, kvPort: sockets.kvPort, replayPort: sockets.replayPort, close };
  } catch (error) {
    await close();
    throw error;
  }
}
