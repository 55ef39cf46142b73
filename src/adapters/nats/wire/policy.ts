import { parentAffinities, placementModes, type LivePolicy } from '../../../core/placement/placement.ts';
import { jsonBytes, jsonFields } from './fields.ts';

export const encodePolicy = (policy: LivePolicy): Uint8Array => jsonBytes({ v: 1, ...policy });

export function decodePolicy(data: Uint8Array): LivePolicy {
  const fields = jsonFields(data, 'policy');
  fields.version(1);
  return { mode: fields.oneOf('mode', placementModes), parentAffinity: fields.oneOf('parentAffinity', parentAffinities) };
}
