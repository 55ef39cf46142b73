import { affinityMode } from './affinity-mode.ts';
import { eventMode } from './event-mode.ts';
import { leastLoadedMode } from './least-loaded-mode.ts';
import type { ModeRule } from './mode-rule.ts';
import type { PlacementMode } from './placement.ts';
import { predictedMode } from './predicted-mode.ts';
import { randomMode } from './random-mode.ts';
import { roundRobinMode } from './round-robin-mode.ts';

/** The rule of each placement mode. */
export const modeRules = {
  event: eventMode,
  predicted: predictedMode,
  affinity: affinityMode,
  'round-robin': roundRobinMode,
  random: randomMode,
  'least-loaded': leastLoadedMode,
} satisfies Readonly<Record<PlacementMode, ModeRule>>;
