import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** The oldest nats-server that has all we use: what Debian 12 ships. */
export const oldestNatsServer = '2.9';

/** `2.10.29` of what `nats-server --version` prints; null for anything else. */
export function parseNatsServerVersion(text: string): string | null {
  return /^nats-server: v(\d+\.\d+\.\d+\S*)/m.exec(text)?.[1] ?? null;
}

export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 2 || (major === 2 && minor >= 9);
}

/** The version a program says it has; null where it can't be run or is no nats-server. */
export async function natsServerVersion(binary: string): Promise<string | null> {
  try {
    const { stdout } = await execute(binary, ['--version'], { timeout: 10_000 });
    return parseNatsServerVersion(stdout);
  } catch {
    // Not there, not executable, or not for this machine: to the caller all the same, it is no server to use.
    return null;
  }
}
