// Evaluates If-None-Match and If-Match (RFC 9110 sections 8.8.3 and 13.1).
import { createHash } from 'node:crypto';

/** Matches one entity tag of a list, such as `"abc"` or `W/"abc"`. The groups are the prefix and `abc`. */
const entityTag = /(W\/)?"([^"]*)"/g;

/**
 * Whether the header If-None-Match names `etag`, which includes the quotes. The comparison ignores the prefix `W/` of
 * weak tags. `*` stands for every entity tag.
 */
export function isNotModified(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  for (const [, , opaqueTag] of ifNoneMatch.matchAll(entityTag)) if (`"${opaqueTag}"` === etag) return true;
  return false;
}

/**
 * Returns the entity tags of the header If-Match, without quotes. The request is allowed only if one of them is the
 * entity tag of the resource. Returns undefined if every entity tag is allowed. Weak tags are left out, because
 * If-Match uses strong comparison. A header with only weak tags therefore never allows the request.
 */
export function tagsToMatch(ifMatch: string | undefined): readonly string[] | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  return [...ifMatch.matchAll(entityTag)].filter(([, weak]) => !weak).map(([, , opaqueTag]) => opaqueTag ?? '');
}

/**
 * Derives a strong entity tag, without quotes, from the content of a response: 22 characters with 132 bits of a hash.
 */
export function contentEtag(body: object): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 22);
}
