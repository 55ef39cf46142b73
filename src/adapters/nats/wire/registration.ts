import type { DpRank } from '../../../core/identity/ids.ts';
import { epoch, parseDpRank, parsePoolId, parseWorkerId } from '../../../core/identity/ids.ts';
import type { EventSource, IsolationPart, WorkerRegistration } from '../../../core/identity/registration.ts';
import { isolationParts } from '../../../core/identity/registration.ts';
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
    ranks: decodeRanks(fields),
    blockSize: decodeBlockSize(fields),
    pageSize: fields.whole('pageSize', 1),
    contextLength: fields.wholeOrNull('contextLength'),
    vocabSize: fields.wholeOrNull('vocabSize'),
    maxRunningRequests: fields.wholeOrNull('maxRunningRequests'),
    capacityTokens: fields.wholeOrNull('capacityTokens'),
    tokenizerPath: fields.textOrNull('tokenizerPath'),
    events: decodeEvents(fields.inner('events')),
    unnamedInEvents: decodeParts(fields.texts('unnamedInEvents')),
    draining: fields.flag('draining'),
  };
}

/** Each once; no worker has more, and a router keeps books for every one of them. */
const mostRanks = 1_024;

function decodeRanks(fields: Fields): readonly DpRank[] {
  const list = fields.list('ranks');
  if (list.length > mostRanks || new Set(list).size < list.length) fields.refuse('ranks', `list of up to ${mostRanks} ranks, each once`);
  return list.map((rank) => (typeof rank === 'number' ? parseDpRank(rank) : fields.refuse('ranks', 'list of numbers')));
}

const largestBlock = 1_024;

function decodeBlockSize(fields: Fields): number {
  const tokens = fields.whole('blockSize', 1);
  return tokens <= largestBlock ? tokens : fields.refuse('blockSize', `number of tokens up to ${largestBlock}`);
}

function decodeEvents(fields: Fields): EventSource {
  const kind = fields.oneOf('kind', ['zmq', 'none']);
  return kind === 'zmq' ? { kind } : { kind, why: fields.text('why') };
}

/** One that we don't know is of a newer agent, and no request that we understand has it. */
const decodeParts = (names: readonly string[]): IsolationPart[] => isolationParts.filter((part) => names.includes(part));
