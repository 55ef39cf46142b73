import type { Command } from 'commander';
import { parentAffinities, placementModes } from '../core/placement/placement.ts';
import type { ParentAffinity, PlacementMode } from '../core/placement/placement.ts';
import { RouterError } from '../core/router-error.ts';
import { httpUrl, oneOf, positiveNumber, wholeNumber } from './command-tools.ts';
import type { UpOptions } from './up.ts';
import { upDefaults } from './up.ts';

/** What commander gives for the flags of `addEngineFlags`. */
export interface EngineFlags {
  readonly blockSize?: number;
  readonly pageSize: number;
  readonly engineKvTokens: number;
  readonly contextLength: number;
  readonly dpSize: number;
}

/** What commander gives for the flags of `addUpFlags`. */
export interface UpFlags extends EngineFlags {
  readonly engines: number;
  readonly routers: number;
  readonly mode: PlacementMode;
  readonly parentAffinity: ParentAffinity;
  readonly host: string;
  readonly port: number;
  readonly speed: number;
  readonly nats?: string;
  readonly engine: readonly string[];
}

/** The simulated engines' flags besides their speed, for every command that starts some. */
export function addEngineFlags(command: Command, defaults: { readonly pageSize: number; readonly engineKvTokens: number }): Command {
  return command
    .option('--block-size <tokens>', 'tokens a block of the pool, 1 to 1024 (default 64)', wholeNumber(1, 1_024))
    .option('--page-size <tokens>', "tokens a page of the engines' own cache", wholeNumber(1, 4_096), defaults.pageSize)
    .option('--engine-kv-tokens <tokens>', 'KV cache of each engine', wholeNumber(1_024, 100_000_000), defaults.engineKvTokens)
    .option('--context-length <tokens>', 'longest prompt plus answer of each engine', wholeNumber(64, 10_000_000), upDefaults.contextLength)
    .option('--dp-size <ranks>', 'data-parallel ranks of each engine', wholeNumber(1, 64), upDefaults.dpSize);
}

export const addSpeedFlag = (command: Command): Command =>
  command.option('--speed <factor>', 'how much faster than the modelled GPU the simulated engines run', positiveNumber, upDefaults.speed);

const collect = (url: string, urls: readonly string[]): readonly string[] => [...urls, httpUrl(url)];

/** All flags of `kinroute up`. */
export function addUpFlags(command: Command): Command {
  command
    .option('--engines <n>', 'simulated engines, with an agent each', wholeNumber(1, 256), upDefaults.engines)
    .option('--engine <url>', 'an engine that is already there, instead of simulated ones (repeatable)', collect, [])
    .option('--routers <n>', 'routers, on --port and the ports after it', wholeNumber(1, 64), upDefaults.routers)
    .option('--mode <mode>', `how requests are placed: ${placementModes.join(', ')}`, oneOf(placementModes), upDefaults.mode)
    .option('--parent-affinity <kind>', `how affinity places a new child session: ${parentAffinities.join(', ')}`, oneOf(parentAffinities), upDefaults.parentAffinity)
    .option('--host <address>', 'where the routers and engines listen', upDefaults.host)
    .option('--port <port>', "the first router's port; 0 takes free ones", wholeNumber(0, 65_535), 8_080)
    .option('--nats <url>', 'a NATS server with JetStream that is already there, instead of one of our own; all its routers go over to --mode');
  return addSpeedFlag(addEngineFlags(command, upDefaults));
}

/** From flags to what `startUp` takes. */
export function upOptionsOf(flags: UpFlags): UpOptions {
  const { engine, nats, blockSize, ...same } = flags;
  if (flags.port !== 0 && flags.port + flags.routers - 1 > 65_535) {
    throw new RouterError('bad-config', `--port ${flags.port} with --routers ${flags.routers} goes beyond port 65535: give a lower --port`);
  }
  return { ...upDefaults, ...same, engineUrls: engine, nats: nats ?? null, blockSize: blockSize ?? null };
}
