import { createConnection } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { RouterError } from '../../core/router-error.ts';

/** What a nats-server says first on each connection, as far as we go by it. */
export interface ServerHello {
  readonly version: string;
  readonly jetstream: boolean;
}

const retryMs = 25;

/** Connects until a nats-server answers; gives up after `deadlineMs` or when `ended` says so. */
export async function readServerHello(host: string, port: number, deadlineMs: number, ended: () => boolean): Promise<ServerHello> {
  const giveUpAt = performance.now() + deadlineMs;
  for (;;) {
    const hello = await helloOf(host, port);
    if (hello !== null) return hello;
    if (ended() || performance.now() >= giveUpAt) throw new RouterError('bus-unavailable', `no nats-server answers at ${host}:${port}`);
    await delay(retryMs);
  }
}

function helloOf(host: string, port: number): Promise<ServerHello | null> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port });
    let text = '';
    const finish = (hello: ServerHello | null): void => {
      socket.destroy();
      resolve(hello);
    };
    socket.setEncoding('utf8').setTimeout(2_000, () => finish(null));
    socket.on('error', () => finish(null));
    socket.on('close', () => finish(null));
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n')) finish(parseServerHello(text));
    });
  });
}

/** Of the line `INFO {json}`; null for anything else. */
export function parseServerHello(text: string): ServerHello | null {
  const json = /^INFO (\{.*\})\s*\r?\n/.exec(text)?.[1];
  if (json === undefined) return null;
  try {
    const info: unknown = JSON.parse(json);
    if (typeof info !== 'object' || info === null || !('version' in info) || typeof info.version !== 'string') return null;
    return { version: info.version, jetstream: 'jetstream' in info && info.jetstream === true };
  } catch {
    // Something else listens there: no hello of ours.
    return null;
  }
}
