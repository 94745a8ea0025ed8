// Derives the entity tags of resources, and evaluates If-Match and If-None-Match (RFC 9110 section 13.1).
import { hash } from 'node:crypto';
import { apiError } from './problems.ts';

/** `credentials` are hashes that the resource does not show. A new secret changes the tag too. */
export const etagOf = (entry: object, credentials: unknown): string =>
  `"${hash('sha256', JSON.stringify([entry, credentials]), 'base64url').slice(0, 22)}"`;

/** Weak tags never match in If-Match, and match in If-None-Match. */
const tagsOf = (header: string): readonly string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];

export const isNotModified = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === '*' || tagsOf(ifNoneMatch).some((tag) => tag.replace(/^W\//, '') === etag));

/**
 * `etag` is that of the resource as it is, or undefined if there is none.
 * @throws {ApiError} 412
 */
export function checkPreconditions(header: (name: string) => string | undefined, etag: string | undefined): void {
  const ifMatch = header('if-match');
  const matches = etag !== undefined && (ifMatch?.trim() === '*' || tagsOf(ifMatch ?? '').includes(etag));
  if (ifMatch !== undefined && !matches) throw apiError('ERR00412');
  if (etag !== undefined && isNotModified(header('if-none-match'), etag)) throw apiError('ERR00412');
}
