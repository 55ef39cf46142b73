import type { Command } from 'commander';
import { HttpRouterAdmin } from '../../adapters/load-client/http-router-admin.ts';
import { connectNats } from '../../adapters/nats/connection.ts';
import { routerPorts } from '../../adapters/nats/router-ports.ts';
import { parentAffinities, placementModes } from '../../core/placement/placement.ts';
import type { LivePolicy, ParentAffinity, PlacementMode } from '../../core/placement/placement.ts';
import { RouterError } from '../../core/router-error.ts';
import { action, httpUrl, oneOf } from '../command-tools.ts';
import { createLog } from '../create-log.ts';

interface Flags {
  readonly router?: string;
  readonly nats?: string;
  readonly parentAffinity?: ParentAffinity;
  readonly json?: boolean;
}

const defaultRouter = 'http://127.0.0.1:8080';
const patienceMs = 10_000;

const examples = `
Examples:
  $ kinroute mode                                            the mode in force
  $ kinroute mode affinity --parent-affinity siblings        switches all routers of the deployment, by way of one
  $ kinroute mode event --nats nats://127.0.0.1:4222         the same, written for the routers to read`;

export function registerMode(program: Command): void {
  program
    .command('mode')
    .description('show or switch the placement mode of all routers, live')
    .argument('[mode]', placementModes.join(', '), oneOf(placementModes))
    .option('--router <url>', `any router (default ${defaultRouter})`, httpUrl)
    .option('--nats <url>', 'the NATS server, instead of a router')
    .option('--parent-affinity <kind>', `how affinity places a new child session: ${parentAffinities.join(', ')}`, oneOf(parentAffinities))
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples)
    .action(action(mode));
}

async function mode(wanted: PlacementMode | undefined, flags: Flags): Promise<void> {
  if (flags.router !== undefined && flags.nats !== undefined) throw new RouterError('bad-config', '--router and --nats are two ways to the same mode: give one');
  const policy = flags.nats === undefined ? await throughRouter(flags.router ?? defaultRouter, wanted, flags) : await throughNats(flags.nats, wanted, flags);
  if (flags.json === true) process.stdout.write(`${JSON.stringify(policy)}\n`);
  else process.stdout.write(policy === null ? "no mode was set for all routers: each goes by its flags\n" : `mode ${policy.mode}, parent affinity ${policy.parentAffinity}\n`);
}

const isChange = (wanted: PlacementMode | undefined, { parentAffinity }: Flags): boolean => wanted !== undefined || parentAffinity !== undefined;

async function throughRouter(url: string, wanted: PlacementMode | undefined, flags: Flags): Promise<LivePolicy> {
  const admin = new HttpRouterAdmin(url);
  const signal = AbortSignal.timeout(patienceMs);
  try {
    const now = await admin.policy(signal);
    if (!isChange(wanted, flags)) return now;
    await admin.setPolicy({ mode: wanted ?? now.mode, parentAffinity: flags.parentAffinity ?? now.parentAffinity }, signal);
    return await admin.policy(signal);
  } finally {
    await admin.close();
  }
}

async function throughNats(servers: string, wanted: PlacementMode | undefined, flags: Flags): Promise<LivePolicy | null> {
  const nats = await connectNats({ servers, name: 'kinroute-mode' }, createLog('mode', 'error'));
  try {
    const { config } = routerPorts(nats);
    const now = await config.get();
    if (!isChange(wanted, flags)) return now;
    const mode = wanted ?? now?.mode;
    if (mode === undefined) throw new RouterError('bad-config', 'no mode was set for all routers yet: name one, as in `kinroute mode affinity --parent-affinity siblings`');
    const policy: LivePolicy = { mode, parentAffinity: flags.parentAffinity ?? now?.parentAffinity ?? 'off' };
    await config.put(policy);
    return policy;
  } finally {
    await nats.close();
  }
}
