import type { ControlServer, KvPublisher } from '../../ports/kv-bus.ts';
import type { RequestServer } from '../../ports/request-transport.ts';
import type { LoadPublisher, WorkerRegistry } from '../../ports/worker-registry.ts';
import { controlServer } from './control-server.ts';
import { NatsKvPublisher } from './kv-publisher.ts';
import { loadPublisher } from './load-bus.ts';
import type { NatsHandle } from './nats-handle.ts';
import { NatsRequestServer } from './request-server.ts';
import { workerRegistry } from './worker-registry.ts';

/** All that an agent needs of the bus. */
export interface AgentPorts {
  readonly registry: WorkerRegistry;
  readonly kv: KvPublisher;
  readonly loads: LoadPublisher;
  readonly requests: RequestServer;
  readonly control: ControlServer;
}

export function agentPorts(handle: NatsHandle): AgentPorts {
  return {
    registry: workerRegistry(handle),
    kv: new NatsKvPublisher(handle),
    loads: loadPublisher(handle),
    requests: new NatsRequestServer(handle),
    control: controlServer(handle),
  };
}
