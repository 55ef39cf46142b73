import { DiscardPolicy, NatsError, nanos, RetentionPolicy, StorageType, type JetStreamManager, type StreamConfig } from 'nats';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { BusNames } from './bus-names.ts';

export interface ProvisionOptions {
  /** How long a registration lives without being renewed. */
  readonly workerTtlMs: number;
  /** Copies of each stream in a cluster: 1, 3 or 5. */
  readonly replicas: number;
}

const minuteMs = 60_000;
const mebibyte = 1024 * 1024;

const streamNotFound = 10059;

/**
 * Creates the streams and buckets that are missing. Those that are there keep their limits, which are the operator's, but
 * must have our subjects and shape: else `bad-config`. Uses only what nats-server 2.9 has, and checks what it made.
 */
export async function provision(manager: JetStreamManager, names: BusNames, options: ProvisionOptions): Promise<void> {
  for (const wanted of streamConfigs(names, options)) await ensureStream(manager, wanted);
}

type Wanted = Partial<StreamConfig> & { readonly name: string };

function streamConfigs(names: BusNames, options: ProvisionOptions): Wanted[] {
  const { streams, prefix } = names;
  const shared = { retention: RetentionPolicy.Limits, num_replicas: options.replicas };
  const file = { ...shared, storage: StorageType.File, discard: DiscardPolicy.Old };
  return [
    // A router that was away for longer asks the agents for snapshots.
    { ...file, name: streams.kv, subjects: [`${prefix}.kv.>`], max_age: nanos(30 * minuteMs), max_bytes: 512 * mebibyte, duplicate_window: nanos(2 * minuteMs) },
    { ...shared, name: streams.load, subjects: [`${prefix}.load.>`], storage: StorageType.Memory, discard: DiscardPolicy.Old, max_msgs_per_subject: 1, max_age: nanos(minuteMs), max_bytes: 16 * mebibyte },
    { ...file, name: streams.placement, subjects: [`${prefix}.placement.>`], max_age: nanos(24 * 60 * minuteMs), max_bytes: 512 * mebibyte },
    bucket(streams.workers, options, { max_age: nanos(options.workerTtlMs), max_bytes: 16 * mebibyte }),
    bucket(streams.sessions, options, { max_age: nanos(24 * 60 * minuteMs), max_bytes: 128 * mebibyte }),
    bucket(streams.config, options, { max_bytes: mebibyte }),
  ];
}

/** As NATS lays out its key-value buckets (ADR-8), so that its own tools read them. */
function bucket(name: string, options: ProvisionOptions, limits: Partial<StreamConfig>): Wanted {
  return {
    name: `KV_${name}`,
    subjects: [`$KV.${name}.>`],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: options.replicas,
    discard: DiscardPolicy.New,
    max_msgs_per_subject: 1,
    allow_rollup_hdrs: true,
    deny_delete: true,
    allow_direct: true,
    duplicate_window: Math.min(nanos(2 * minuteMs), limits.max_age ?? Number.POSITIVE_INFINITY),
    ...limits,
  };
}

async function ensureStream(manager: JetStreamManager, wanted: Wanted): Promise<void> {
  const present = await manager.streams.info(wanted.name).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw unavailable(wanted.name, error);
  });
  const made = present ?? (await manager.streams.add(wanted).catch((error: unknown) => {
    throw unavailable(wanted.name, error);
  }));
  checkEcho(wanted, made.config);
}

export function isMissing(error: unknown): boolean {
  return error instanceof NatsError && error.api_error?.err_code === streamNotFound;
}

function unavailable(stream: string, cause: unknown): RouterError {
  if (cause instanceof NatsError && cause.code === '503') return new RouterError('bus-unavailable', `the nats-server has no JetStream: start it with the nats.conf that comes with kinroute`, { cause });
  return new RouterError('bus-unavailable', `stream ${stream} could not be read or created: ${messageOf(cause)}`, { cause });
}

/** What an older server ignores, or somebody else chose, must not be found out later. */
function checkEcho(wanted: Wanted, echoed: StreamConfig): void {
  const must = ['subjects', 'storage', 'retention', 'max_msgs_per_subject', 'allow_direct'] as const;
  for (const field of must) {
    const want = wanted[field];
    if (want === undefined || JSON.stringify(want) === JSON.stringify(echoed[field])) continue;
    throw new RouterError('bad-config', `stream ${wanted.name} has ${field} ${JSON.stringify(echoed[field])}, ${JSON.stringify(want)} is needed: delete the stream, or use another prefix`);
  }
  if (wanted.max_age !== undefined && echoed.max_age === 0) throw new RouterError('bad-config', `stream ${wanted.name} keeps for ever what must grow old: give it a max_age, or delete it`);
}
