/**
 * The one cache salt that keeps apart what SGLang's `cache_salt` and `extra_key` keep apart together. Events name a
 * salt but no extra key, so agents send this instead of both and routers hash with it. The salt's length stands in
 * front, so that no other pair merges into the same text. Empty is none, as the engine has it.
 */
export function mergedSalt(salt: string | null, extraKey: string | null): string | null {
  if (extraKey === null || extraKey === '') return salt === '' ? null : salt;
  if (salt === null || salt === '') return extraKey;
  return `${salt.length}:${salt}${extraKey}`;
}
