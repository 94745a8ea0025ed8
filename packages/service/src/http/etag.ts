// Evaluates If-None-Match and If-Match (RFC 9110 sections 8.8.3 and 13.1), and derives entity tags from content.
import { hash } from 'node:crypto';

/** The groups are the prefix `W/` and the tag without quotes. */
const entityTag = /(W\/)?"([^"]*)"/g;

/** Compares weakly, without the prefix `W/`. */
export function isNotModified(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  for (const [, , opaqueTag] of ifNoneMatch.matchAll(entityTag)) if (`"${opaqueTag}"` === etag) return true;
  return false;
}

/**
 * Returns the tags of If-Match without quotes, or undefined if every tag is allowed. Weak tags never match (strong
 * comparison).
 */
export function tagsToMatch(ifMatch: string | undefined): readonly string[] | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  return [...ifMatch.matchAll(entityTag)].filter(([, weak]) => !weak).map(([, , opaqueTag]) => opaqueTag ?? '');
}

/** Finds the header that a change violates. `etag` is undefined if the resource does not exist. */
export function findFailedPrecondition(header: (name: string) => string | undefined, etag: string | undefined) {
  const ifMatch = header('if-match');
  if (etag === undefined) return ifMatch === undefined ? undefined : { field: 'If-Match', reason: 'it does not exist' };
  if (tagsToMatch(ifMatch)?.some((tag) => `"${tag}"` === etag) === false)
    return { field: 'If-Match', reason: 'not the current ETag' };
  if (isNotModified(header('if-none-match'), etag)) return { field: 'If-None-Match', reason: 'it exists' };
  return undefined;
}

/** Returns 132 bits of a hash, which can be part of a URL. */
export const contentHash = (content: string | Buffer): string => hash('sha256', content, 'base64url').slice(0, 22);
