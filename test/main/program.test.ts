import { describe, expect, it } from 'vitest';
import { CommanderError } from 'commander';
import { createProgram } from '../../src/main/program.ts';

interface Said {
  readonly out: string;
  readonly err: string;
  readonly exitCode: number | null;
}

/** Reads a command line as far as its own parser goes. */
async function parse(...args: readonly string[]): Promise<Said> {
  let out = '';
  let err = '';
  const program = createProgram({ writeOut: (text) => void (out += text), writeErr: (text) => void (err += text) });
  try {
    await program.parseAsync(args, { from: 'user' });
    return { out, err, exitCode: null };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { out, err, exitCode: error.exitCode };
  }
}

describe('the command line', () => {
  it('names an unknown flag and the ones that were meant', async () => {
    const { exitCode, out, err } = await parse('up', '--routrs', '2');
    expect(exitCode).not.toBe(0);
    expect(err).toContain("kinroute: unknown option '--routrs'\n(Did you mean --routers?)");
    expect(out).toBe('');
  });

  it('names an unknown command and the one that was meant', async () => {
    const { exitCode, err } = await parse('compear');
    expect(exitCode).not.toBe(0);
    expect(err).toContain("kinroute: unknown command 'compear'\n(Did you mean compare?)");
  });

  it.each([
    [['compare', '--fan-out', '2,many'], 'give a whole number from 1 to 256.'],
    [['compare', '--modes', 'affinity,magic'], 'give one of event, predicted, affinity'],
    [['compare', '--trials', '0'], 'give a whole number from 1 to 1000.'],
    [['up', '--engine', 'here'], 'give a URL like http://127.0.0.1:30000.'],
    [['up', '--engine', 'localhost:30000'], 'give a URL like http://127.0.0.1:30000.'],
    [['worker', '--engine', 'gpu7', '--nats', 'nats://127.0.0.1:4222'], 'give a URL like http://127.0.0.1:30000.'],
    [['status', '--router', '127.0.0.1:8080'], 'give a URL like http://127.0.0.1:30000.'],
    [['up', '--port', '70000'], 'give a whole number from 0 to 65535.'],
    [['replay', 'x', '--speed', '-1'], 'give a number above 0.'],
    [['watch', '--event', 'placed,lost'], 'give one of placed, first_token'],
  ])('names what %j may be', async (args, message) => {
    const { exitCode, err } = await parse(...args);
    expect(exitCode).not.toBe(0);
    expect(err).toContain(message);
  });

  it.each([['--virtual'], ['--busy-parent'], ['--background-load', '0.5']])('refuses %s, which is not built, rather than leaving it out', async (...flag) => {
    const { exitCode, err } = await parse('compare', ...flag);
    expect(exitCode).not.toBe(0);
    expect(err).toContain(flag[0] ?? '');
    expect(err).toContain('not built yet: leave it away.');
  });

  it('has help with examples for every command', async () => {
    const { out } = await parse('--help');
    for (const name of ['up', 'router', 'worker', 'engine', 'compare', 'replay', 'watch', 'status', 'mode', 'events', 'demo']) {
      expect(out).toMatch(new RegExp(`\\n  ${name} `));
      const help = await parse(name, '--help');
      expect(help.exitCode).toBe(0);
      expect(help.out).toContain(`$ kinroute ${name}`);
    }
  });

  it('knows its version', async () => {
    expect(await parse('--version')).toMatchObject({ exitCode: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string });
  });
});
