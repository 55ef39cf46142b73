import type { PlacementEvent } from '../../../core/placement/placement-event.ts';
import { Fields, jsonBytes, parseJson } from './fields.ts';

type FieldKind = 'text' | 'textOrNull' | 'whole' | 'wholeOrNull' | 'list' | 'inner';

const base = { at: 'text', router: 'text', pool: 'text' } as const;
const ofRequest = { ...base, requestId: 'text' } as const;
const onRank = { ...ofRequest, worker: 'text', rank: 'whole' } as const;

/** What a reader may count on in each record; what is not listed is passed on as it came. */
const required = {
  placed: { ...onRank, mode: 'text', reason: 'text', session: 'textOrNull', parent: 'textOrNull', promptTokens: 'wholeOrNull', requestBlocks: 'whole', overlapBlocks: 'whole', overlapSource: 'text', candidates: 'list', claim: 'inner', shadow: 'inner' },
  first_token: onRank,
  finished: { ...onRank, status: 'whole', promptTokens: 'wholeOrNull', cachedTokens: 'wholeOrNull', completionTokens: 'wholeOrNull', overlapBlocks: 'whole' },
  failed: { ...onRank, code: 'text', message: 'text' },
  rerouted: { ...onRank, code: 'text' },
  rejected: { ...ofRequest, code: 'text', message: 'text' },
  mode_changed: { ...base, mode: 'text', parentAffinity: 'text' },
} satisfies Record<PlacementEvent['event'], Readonly<Record<string, FieldKind>>>;

const kinds = Object.keys(required) as readonly PlacementEvent['event'][];

export const encodePlacementEvent = (event: PlacementEvent): Uint8Array => jsonBytes(event);

/** Throws `bad-request` for a record of another version, or without what its kind must have. */
export function decodePlacementEvent(data: Uint8Array): PlacementEvent {
  const value = parseJson(data, 'placement event');
  const fields = new Fields(value, 'placement event');
  fields.version(1);
  const kind = fields.oneOf('event', kinds);
  for (const [name, read] of Object.entries<FieldKind>(required[kind])) fields[read](name);
  if (kind === 'placed') checkClaim(fields.inner('claim'));
  return value as PlacementEvent;
}

/** Other routers book it, so it must be figures. */
function checkClaim(claim: Fields): void {
  claim.whole('prefillTokens');
  claim.whole('blocks');
}
