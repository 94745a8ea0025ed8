// Evaluates If-None-Match and If-Match (RFC 9110 sections 8.8.3 and 13.1).
import { createHash } from 'node:crypto';

const entityTag = /(W\/)?"([^"]*)"/g;

/** If-None-Match: whether the condition names `etag`, by weak comparison. `*` names every entity tag. */
export function isNotModified(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  for (const [, , opaqueTag] of ifNoneMatch.matchAll(entityTag)) if (`"${opaqueTag}"` === etag) return true;
  return false;
}

/**
 * If-Match: the entity tags that the current one may equal, without quotes; undefined if any is allowed. If-Match uses
 * strong comparison, so weak tags are left out. A condition with only weak tags therefore always fails.
 */
export function tagsToMatch(ifMatch: string | undefined): readonly string[] | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  return [...ifMatch.matchAll(entityTag)].filter(([, weak]) => !weak).map(([, , opaqueTag]) => opaqueTag ?? '');
}

/** A strong entity tag that is derived from the content of a response, without quotes. */
export function contentEtag(body: object): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 22);
}
