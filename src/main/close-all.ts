import type { Closable } from '../ports/kv-bus.ts';

/** Closes the parts one after another and empties the list. The first failure is thrown, when all were tried. */
export async function closeAll(opened: Closable[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of opened.splice(0)) await part.close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
