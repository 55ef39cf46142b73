import { eventOverlap } from './overlap.ts';
import { overlapMode } from './overlap-mode.ts';

/** By what the engines' KV events say they hold. Sessions are ignored; a rank whose events are not whole holds nothing. */
export const eventMode = overlapMode(eventOverlap);
