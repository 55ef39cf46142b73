import { expect } from 'vitest';

/** Matches a text that has this in it; typed, where vitest's own matcher is `any`. */
export const saying = (part: string | RegExp): unknown => (typeof part === 'string' ? expect.stringContaining(part) : expect.stringMatching(part));
