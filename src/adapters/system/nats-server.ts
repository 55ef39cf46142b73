import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RouterError } from '../../core/router-error.ts';
import type { Log } from '../../ports/log.ts';
import { endWithUs } from './end-with-us.ts';
import { freePort } from './free-port.ts';
import { findNatsServer } from './nats-server-binary.ts';
import { readServerHello } from './nats-server-hello.ts';

export interface NatsServerOptions {
  /** Path of the program; found or brought where absent. */
  readonly binary?: string;
  /** 0: any free one. */
  readonly port?: number;
  /** Where JetStream keeps its data; absent: a temporary folder that goes when the server is stopped. */
  readonly storeDir?: string;
  /** Absent: the `nats.conf` that is shipped. */
  readonly configFile?: string;
}

/** A nats-server with JetStream that we started, on loopback. */
export interface NatsServerProcess {
  readonly url: string;
  readonly port: number;
  readonly version: string;
  /** Ends it with SIGTERM and waits for that. Can be called twice. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL, as a crash would; its data stays. */
  kill(): Promise<void>;
  /** Starts it again after `kill` or `stop` (or stops it first), on the same port and data. */
  restart(): Promise<void>;
}

const shippedConfig = fileURLToPath(new URL('../../../nats.conf', import.meta.url));
const startDeadlineMs = 15_000;
const keptOutputBytes = 8_192;

interface Launch {
  readonly binary: string;
  readonly port: number;
  readonly storeDir: string;
  readonly configFile: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly version: string;
}

/**
 * Resolves when the server answers and has JetStream. Rejects with `nats-server-missing`, `port-in-use`, or
 * `bad-config` with what the server itself said. A server never outlives the process that started it.
 */
export async function startNatsServer(options: NatsServerOptions, log: Log): Promise<NatsServerProcess> {
  const binary = options.binary ?? (await findNatsServer(log));
  const temporary = options.storeDir === undefined ? await mkdtemp(join(tmpdir(), 'kinroute-nats-')) : null;
  const launch: Launch = {
    binary,
    port: options.port !== undefined && options.port !== 0 ? options.port : await freePort(),
    storeDir: temporary ?? resolve(options.storeDir ?? ''),
    configFile: options.configFile ?? shippedConfig,
  };
  try {
    const server = new OwnedServer(launch, temporary, await startChild(launch));
    log.info({ url: server.url, version: server.version, storeDir: launch.storeDir }, 'nats-server-started');
    return server;
  } catch (error) {
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

class OwnedServer implements NatsServerProcess {
  readonly url: string;
  readonly port: number;
  readonly version: string;
  readonly #launch: Launch;
  readonly #temporary: string | null;
  readonly #release: () => void;
  #running: Running | null;

  constructor(launch: Launch, temporary: string | null, running: Running) {
    this.#launch = launch;
    this.#temporary = temporary;
    this.#release = endWithUs(() => {
      if (temporary !== null) rmSync(temporary, { recursive: true, force: true });
    });
    this.#running = running;
    this.port = launch.port;
    this.url = `nats://127.0.0.1:${launch.port}`;
    this.version = running.version;
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    this.#release();
    if (this.#temporary !== null) await rm(this.#temporary, { recursive: true, force: true });
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async restart(): Promise<void> {
    await this.#end('SIGTERM');
    this.#running = await startChild(this.#launch);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#running;
    this.#running = null;
    if (running !== null) await endChild(running.child, signal);
  }
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

async function startChild(launch: Launch): Promise<Running> {
  const args = ['-c', launch.configFile, '-a', '127.0.0.1', '-p', String(launch.port), '-sd', launch.storeDir];
  // A process group of its own: a terminal's Ctrl-C would end it before those who still say goodbye over it.
  const child = spawn(launch.binary, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  const release = endWithUs(() => child.kill('SIGKILL'));
  child.once('exit', release);
  child.once('error', release);
  const said = keepOutput(child);
  const failed = once(child, 'error').then(([error]: unknown[]) => {
    throw new RouterError('nats-server-missing', `${launch.binary} could not be started: set NATS_SERVER_BIN to a nats-server`, { cause: error });
  });
  const ended = once(child, 'exit').then(() => {
    throw startFailure(launch, said());
  });
  try {
    return await Promise.race([failed, ended, waitUntilReady(child, launch)]);
  } catch (error) {
    await endChild(child, 'SIGKILL');
    throw error;
  } finally {
    // Whichever of these lost the race rejects later, when the server is stopped: that is no failure any more.
    failed.catch(() => undefined);
    ended.catch(() => undefined);
  }
}

async function waitUntilReady(child: ChildProcess, launch: Launch): Promise<Running> {
  const hello = await readServerHello('127.0.0.1', launch.port, startDeadlineMs, () => hasEnded(child));
  if (!hello.jetstream) throw new RouterError('bad-config', `nats-server on port ${launch.port} has no JetStream: add a jetstream block to ${launch.configFile}`);
  return { child, version: hello.version };
}

function startFailure(launch: Launch, output: string): RouterError {
  const why = output.split('\n').findLast((line) => /\[(FTL|ERR)\]|nats-server:/.test(line))?.replace(/^.*\[(FTL|ERR)\]\s*/, '') ?? 'it said nothing';
  if (/address already in use/.test(output)) return new RouterError('port-in-use', `port ${launch.port} for nats-server is in use: choose another, or point --nats at the server that is there`);
  return new RouterError('bad-config', `nats-server ended at once with ${launch.configFile}: ${why}`);
}

/** The end of what the server printed, to explain a failed start. */
function keepOutput(child: ChildProcess): () => string {
  let kept = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    kept = (kept + text).slice(-keptOutputBytes);
  });
  return () => kept;
}
