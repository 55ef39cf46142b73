import type { ControlClient, KvFollower, SnapshotClient } from '../../ports/kv-bus.ts';
import type { LiveConfig } from '../../ports/live-config.ts';
import type { PlacementFollower, PlacementPublisher } from '../../ports/placement-bus.ts';
import type { RequestTransport } from '../../ports/request-transport.ts';
import type { LoadFollower, WorkerDirectory } from '../../ports/worker-registry.ts';
import { controlClient } from './control-client.ts';
import { kvFollower } from './kv-follower.ts';
import { liveConfig } from './live-config.ts';
import { loadFollower } from './load-bus.ts';
import type { NatsHandle } from './nats-handle.ts';
import { NatsPlacementBus } from './placement-bus.ts';
import { NatsRequestTransport, type TransportOptions } from './request-transport.ts';
import { workerDirectory } from './worker-directory.ts';

/** All that a router needs of the bus. */
export interface RouterPorts {
  readonly workers: WorkerDirectory;
  readonly kv: KvFollower;
  readonly loads: LoadFollower;
  readonly snapshots: SnapshotClient;
  readonly control: ControlClient;
  readonly transport: RequestTransport;
  readonly placements: PlacementPublisher & PlacementFollower;
  readonly config: LiveConfig;
}

export function routerPorts(handle: NatsHandle, transport: Partial<TransportOptions> = {}): RouterPorts {
  const control = controlClient(handle);
  return {
    workers: workerDirectory(handle),
    kv: kvFollower(handle),
    loads: loadFollower(handle),
    snapshots: control,
    control,
    transport: new NatsRequestTransport(handle, transport),
    placements: new NatsPlacementBus(handle),
    config: liveConfig(handle),
  };
}
