import type { PoolId, WorkerId } from './ids.ts';
import { parsePoolId, parseWorkerId } from './ids.ts';

const longestName = 64;

/** Letters, digits, `_` and `-` of a text; every other run of characters becomes one `-`. */
const subjectSafe = (text: string): string => text.replace(/[^A-Za-z0-9_]+/g, '-').replace(/^-+|-+$/g, '').slice(0, longestName);

/** A worker is named after its engine's host and port where nobody names it. Throws `bad-config` where nothing usable is left. */
export const workerNameOf = (hostAndPort: string): WorkerId => parseWorkerId(subjectSafe(hostAndPort));

/** A pool is named after the model it serves. Throws `bad-config` where nothing usable is left. */
export const poolNameOf = (model: string): PoolId => parsePoolId(subjectSafe(model));
