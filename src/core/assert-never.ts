/** The end of a `switch` over a closed union: fails to compile when a member is missing. */
export function assertNever(value: never, what: string): never {
  throw new Error(`unexpected ${what}: ${JSON.stringify(value)}`);
}
