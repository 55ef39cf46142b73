import { predictedOverlap } from './overlap.ts';
import { overlapMode } from './overlap-mode.ts';

/** By what the router's own recent placements promise. Sessions and events are ignored. */
export const predictedMode = overlapMode(predictedOverlap);
