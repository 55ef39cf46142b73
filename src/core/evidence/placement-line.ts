import { assertNever } from '../assert-never.ts';
import type { PlacementEvent } from '../placement/placement-event.ts';

/** One placement event as one readable line. */
export function placementLine(event: PlacementEvent): string {
  return `${event.at} ${event.router} ${event.pool} ${event.event.padEnd(12)} ${detail(event)}`;
}

const known = (value: number | null): string => (value === null ? '?' : String(value));
const ms = (value: number | null): string => (value === null ? '?' : `${Math.round(value * 10) / 10} ms`);

function detail(event: PlacementEvent): string {
  switch (event.event) {
    case 'placed':
      return `${event.requestId} -> ${event.worker}/${event.rank} by ${event.mode} (${event.reason}), overlap ${event.overlapBlocks}/${event.requestBlocks} blocks (${event.overlapSource}), ${known(event.promptTokens)} tokens${family(event.session, event.parent)}`;
    case 'first_token':
      return `${event.requestId} on ${event.worker}/${event.rank} after ${ms(event.ttftMs)}`;
    case 'finished':
      return `${event.requestId} on ${event.worker}/${event.rank}: status ${event.status}, ${ms(event.durationMs)}, prompt ${known(event.promptTokens)}, cached ${known(event.cachedTokens)}, answer ${known(event.completionTokens)} tokens`;
    case 'failed':
      return `${event.requestId} on ${event.worker}/${event.rank}: ${event.code}, ${event.message}`;
    case 'rerouted':
      return `${event.requestId} away from ${event.worker}/${event.rank}: ${event.code}`;
    case 'rejected':
      return `${event.requestId}: ${event.code}, ${event.message}`;
    case 'mode_changed':
      return `mode ${event.mode}, parent affinity ${event.parentAffinity}`;
    default:
      return assertNever(event, 'placement event');
  }
}

const family = (session: string | null, parent: string | null): string =>
  session === null ? '' : parent === null ? `, session ${session}` : `, session ${session} of ${parent}`;
