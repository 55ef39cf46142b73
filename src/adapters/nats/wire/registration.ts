import { epoch, parseDpRank, parsePoolId, parseWorkerId } from '../../../core/identity/ids.ts';
import type { EventSource, WorkerRegistration } from '../../../core/identity/registration.ts';
import { jsonBytes, jsonFields, type Fields } from './fields.ts';

/** JSON, so that `nats kv get` shows it. */
export const encodeRegistration = (registration: WorkerRegistration): Uint8Array => jsonBytes(registration);

export function decodeRegistration(data: Uint8Array): WorkerRegistration {
  const fields = jsonFields(data, 'registration');
  fields.version(1);
  return {
    v: 1,
    pool: parsePoolId(fields.text('pool')),
    worker: parseWorkerId(fields.text('worker')),
    life: epoch(fields.text('life')),
    engineUrl: fields.text('engineUrl'),
    engineKind: fields.oneOf('engineKind', ['sglang', 'vllm']),
    engineVersion: fields.text('engineVersion'),
    models: fields.texts('models'),
    ranks: fields.list('ranks').map((rank) => parseDpRank(Number(rank))),
    blockSize: fields.whole('blockSize', 1),
    pageSize: fields.whole('pageSize', 1),
    contextLength: fields.wholeOrNull('contextLength'),
    vocabSize: fields.wholeOrNull('vocabSize'),
    maxRunningRequests: fields.wholeOrNull('maxRunningRequests'),
    capacityTokens: fields.wholeOrNull('capacityTokens'),
    events: decodeEvents(fields.inner('events')),
    draining: fields.flag('draining'),
  };
}

function decodeEvents(fields: Fields): EventSource {
  const kind = fields.oneOf('kind', ['zmq', 'none']);
  return kind === 'zmq' ? { kind } : { kind, why: fields.text('why') };
}
