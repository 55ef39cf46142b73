import { affinityMode } from './affinity-mode.ts';
import { leastLoadedMode, randomMode, roundRobinMode } from './baseline-modes.ts';
import type { ModeRule } from './mode-rule.ts';
import { eventMode, predictedMode } from './overlap-mode.ts';
import type { PlacementMode } from './placement.ts';

/** The rule of each placement mode. */
export const modeRules = {
  event: eventMode,
  predicted: predictedMode,
  affinity: affinityMode,
  'round-robin': roundRobinMode,
  random: randomMode,
  'least-loaded': leastLoadedMode,
} satisfies Readonly<Record<PlacementMode, ModeRule>>;
