#!/usr/bin/env node
// What `npm test`, `npm run demo` and `npm run build` start with. Plain JavaScript on Node alone, since on a fresh
// checkout nothing is installed yet: it brings the packages first and hands over to the TypeScript.
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const say = (text) => process.stderr.write(`${text}\n`);

/** Runs a program to its end; resolves with its exit code. Signals sent to us go on to it. */
function run(program, args, options = {}) {
  return new Promise((done, failed) => {
    const child = spawn(program, args, { cwd: root, stdio: 'inherit', ...options });
    const forward = (signal) => child.kill(signal);
    process.on('SIGINT', forward);
    process.on('SIGTERM', forward);
    let out = '';
    child.stdout?.on('data', (chunk) => (out += chunk));
    child.on('error', failed);
    child.on('close', (code, signal) => {
      process.off('SIGINT', forward);
      process.off('SIGTERM', forward);
      done({ code: code ?? (signal === null ? 1 : 130), out });
    });
  });
}

/** Ends the process where a step fails, when all that run beside it are over. */
async function must(...steps) {
  const codes = await Promise.all(steps.map(async ({ what, program, args }) => {
    say(`> ${what}`);
    const { code } = await run(program, args);
    if (code !== 0) say(`kinroute: ${what} failed (exit ${code})`);
    return code;
  }));
  const failed = codes.find((code) => code !== 0);
  if (failed !== undefined) process.exit(failed);
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  say(`kinroute: Node ${process.versions.node} is too old: install Node 20.19 or newer`);
  process.exit(2);
}

/** Installs what package-lock.json names, when it has changed since the last time. */
async function installPackages() {
  const stamp = join(root, 'node_modules', '.package-lock.json');
  const lock = join(root, 'package-lock.json');
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= statSync(lock).mtimeMs) return;
  await must({ what: 'installing packages (npm ci)', program: process.platform === 'win32' ? 'npm.cmd' : 'npm', args: ['ci', '--no-audit', '--no-fund'] });
}

const tsx = (...args) => ['--import', 'tsx', ...args];
const bin = (name) => join(root, 'node_modules', name);

/** Finds or brings nats-server once, so that all tests start the same one. */
async function bringNatsServer() {
  const { code, out } = await run(process.execPath, tsx('src/main/print-nats-server.ts'), { stdio: ['ignore', 'pipe', 'inherit'] });
  if (code !== 0) process.exit(code);
  process.env.NATS_SERVER_BIN = out.trim();
}

async function test(args) {
  await must(
    { what: 'lint', program: process.execPath, args: [bin('eslint/bin/eslint.js'), '.'] },
    { what: 'type check', program: process.execPath, args: [bin('typescript/bin/tsc'), '--noEmit', '-p', 'tsconfig.json'] },
  );
  await bringNatsServer();
  const report = join(root, '.cache', 'test-report.json');
  mkdirSync(dirname(report), { recursive: true });
  rmSync(report, { force: true });
  say('> tests');
  const { code } = await run(process.execPath, [
    bin('vitest/vitest.mjs'), 'run', '--config', 'test/vitest.config.ts',
    '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...args,
  ]);
  if (!existsSync(report)) process.exit(code === 0 ? 1 : code);
  const { numPassedTests, numFailedTests, numPendingTests, numFailedTestSuites } = JSON.parse(readFileSync(report, 'utf8'));
  const failed = numFailedTests > 0 ? numFailedTests : code === 0 ? 0 : Math.max(1, numFailedTestSuites);
  console.log(`${numPassedTests} passed, ${failed} failed${numPendingTests > 0 ? `, ${numPendingTests} skipped` : ''}`);
  process.exit(code);
}

async function build() {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  await must({ what: 'build into dist/', program: process.execPath, args: [bin('typescript/bin/tsc'), '-p', 'src/tsconfig.json'] });
  chmodSync(join(root, 'dist', 'main', 'cli.js'), 0o755);
}

async function demo(args) {
  const { code } = await run(process.execPath, tsx('src/main/cli.ts', 'demo', ...args));
  process.exit(code);
}

const commands = { test, build, demo };
const [name = '', ...args] = process.argv.slice(2);
const command = commands[name];
if (command === undefined) {
  say(`kinroute: bootstrap knows ${Object.keys(commands).join(', ')}, not ${JSON.stringify(name)}`);
  process.exit(2);
}
checkNode();
await installPackages();
await command(args);
