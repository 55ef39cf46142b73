import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startNatsServer } from '../../../src/adapters/system/nats-server.ts';
import { parseServerHello } from '../../../src/adapters/system/nats-server-hello.ts';
import { saying } from '../../support/saying.ts';
import { silentLog } from '../../support/silent-log.ts';

const root = resolve(fileURLToPath(new URL('../../..', import.meta.url)));

const answers = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.on('data', () => done(true));
    socket.on('error', () => done(false));
    socket.on('close', () => done(false));
    socket.once('data', () => socket.destroy());
  });

describe('a nats-server of our own', () => {
  let home: string;

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'kinroute-own-'));
  });

  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it('takes the shipped nats.conf, has JetStream, and is gone after stop', async () => {
    const server = await startNatsServer({}, silentLog);
    expect(server.url).toBe(`nats://127.0.0.1:${server.port}`);
    expect(server.version).toMatch(/^2\./);
    expect(await answers(server.port)).toBe(true);
    await server.stop();
    await server.stop();
    expect(await answers(server.port)).toBe(false);
  });

  it('comes back on its port with its data after a kill', async () => {
    const server = await startNatsServer({ storeDir: join(home, 'store') }, silentLog);
    await server.kill();
    expect(await answers(server.port)).toBe(false);
    await server.restart();
    expect(await answers(server.port)).toBe(true);
    await server.stop();
    expect(existsSync(join(home, 'store'))).toBe(true);
  });

  it('two of them do not get into each other’s way', async () => {
    const [a, b] = await Promise.all([startNatsServer({}, silentLog), startNatsServer({}, silentLog)]);
    expect(a.port).not.toBe(b.port);
    await Promise.all([a.stop(), b.stop()]);
  });

  it('a port in use is told as that', async () => {
    const taken = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(startNatsServer({ port }, silentLog)).rejects.toMatchObject({ code: 'port-in-use', message: saying(String(port)) });
    taken.close();
  });

  it('a configuration that the server refuses is bad-config, with what the server said', async () => {
    const configFile = join(home, 'broken.conf');
    writeFileSync(configFile, 'jetstream { nonsense: 1 }\n');
    await expect(startNatsServer({ configFile }, silentLog)).rejects.toMatchObject({ code: 'bad-config', message: saying('nonsense') });
  });

  it('a server without JetStream is refused and not left running', async () => {
    const configFile = join(home, 'plain.conf');
    writeFileSync(configFile, 'max_payload: 1MB\n');
    await expect(startNatsServer({ configFile }, silentLog)).rejects.toMatchObject({ code: 'bad-config', message: saying('JetStream') });
  });

  it('a program that is not there is nats-server-missing', async () => {
    await expect(startNatsServer({ binary: join(home, 'nothing') }, silentLog)).rejects.toMatchObject({ code: 'nats-server-missing' });
  });

  it.each([
    ['exits', 'process.exit(0)'],
    ['is ended by SIGTERM', "process.kill(process.pid, 'SIGTERM')"],
  ])('neither the server nor its temporary data outlive a process that %s', async (_how, end) => {
    const script = `
      import { startNatsServer } from ${JSON.stringify(join(root, 'src/adapters/system/nats-server.ts'))};
      const log = { debug() {}, info: (fields) => console.log(JSON.stringify(fields)), warn() {}, error() {} };
      await startNatsServer({}, log);
      process.stdout.write('', () => ${end});`;
    const file = join(home, 'starts.mts');
    writeFileSync(file, script);
    const child = spawn(process.execPath, ['--import', 'tsx', file], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    await once(child, 'close');
    const started: unknown = JSON.parse(out);
    expect(started).toMatchObject({ url: saying('nats://127.0.0.1:'), storeDir: saying('kinroute-nats-') });
    const { url, storeDir } = started as { readonly url: string; readonly storeDir: string };
    expect(await answers(Number(new URL(url).port))).toBe(false);
    expect(existsSync(storeDir)).toBe(false);
  });

  it('what else answers on a port is no hello', () => {
    expect(parseServerHello('INFO {"version":"2.9.10","jetstream":true} \r\n')).toEqual({ version: '2.9.10', jetstream: true });
    expect(parseServerHello('INFO {"version":"2.9.10"} \r\n')).toEqual({ version: '2.9.10', jetstream: false });
    for (const text of ['HTTP/1.1 400\r\n', 'INFO {"version":}\r\n', 'INFO {"jetstream":true}\r\n', '']) expect(parseServerHello(text)).toBeNull();
  });
});
