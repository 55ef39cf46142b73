/** Major, minor, patch; null where a version does not begin with them (a build of one's own). */
export function parseVersion(text: string): readonly [number, number, number] | null {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(text);
  if (match === null) return null;
  return [Number(match[1]), Number(match[2]), Number(match[3])];
}

/** Whether `version` is older than `than`. One that can't be read is taken for new, as builds from source are. */
export function isOlder(version: string, than: readonly [number, number, number]): boolean {
  const parts = parseVersion(version);
  if (parts === null || parts.every((part) => part === 0)) return false;
  for (const [place, part] of parts.entries()) {
    const other = than[place] ?? 0;
    if (part !== other) return part < other;
  }
  return false;
}
