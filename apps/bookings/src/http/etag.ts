// Which version of a booking does a client know? Entity tags and the conditions made of them (RFC 9110 sections 8.8.3 and 13.1).

const listed = /(W\/)?"([^"]*)"/g;

/** If-None-Match: weak comparison; `*` names any version. */
export function satisfies(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  if (condition.trim() === '*') return true;
  for (const [, , opaque] of condition.matchAll(listed)) if (`"${opaque}"` === etag) return true;
  return false;
}

/**
 * If-Match: the tags that may be overwritten, without their quotes, or undefined for any. Weak tags never match (strong comparison),
 * so a condition without a strong one can only fail.
 */
export function tagsToMatch(condition: string | undefined): readonly string[] | undefined {
  if (condition === undefined || condition.trim() === '*') return undefined;
  return [...condition.matchAll(listed)].filter(([, weak]) => !weak).map(([, , opaque]) => opaque ?? '');
}
