import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const repoRoot = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const sharedRoot = process.env['KINROUTE_SHARED'] ?? join(repoRoot, '..', 'shared');

/** A file of the recorded data that lies beside the checkout, not in it. */
export const sharedPath = (...parts: readonly string[]): string => join(sharedRoot, ...parts);

/** Whether that data is here; a test that needs it is skipped, and says so, where it isn't. */
export const haveShared = existsSync(join(sharedRoot, 'fixtures'));
