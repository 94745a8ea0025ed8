// Derives the entity tags of records, and evaluates If-Match and If-None-Match (RFC 9110 section 13.1).
import { hash } from 'node:crypto';
import type { ApiError } from '@bay-booking/common/errors';
import type { ManagementErrors } from './problems.ts';

/** `credentials` are hashes that the record does not show. A new secret changes the tag too. */
export const etagOf = (record: object, credentials: unknown = null): string =>
  `"${hash('sha256', JSON.stringify([record, credentials]), 'base64url').slice(0, 22)}"`;

/** Weak tags never match in If-Match, and match in If-None-Match. */
const tagsOf = (header: string): readonly string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];

export const isNotModified = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === '*' || tagsOf(ifNoneMatch).some((tag) => tag.replace(/^W\//, '') === etag));

/**
 * `etag` is that of the record as it is, or undefined if it does not exist.
 * @throws {ApiError} 412, with the name of the header
 */
export function checkPreconditions(
  header: (name: string) => string | undefined,
  etag: string | undefined,
  { apiError }: Pick<ManagementErrors, 'apiError'>,
): void {
  const fail = (field: string, moreInfo: string): ApiError =>
    apiError('ERR00412', { moreInfo, contextData: { field } });
  const ifMatch = header('if-match');
  const matches = etag !== undefined && (ifMatch?.trim() === '*' || tagsOf(ifMatch ?? '').includes(etag));
  if (ifMatch !== undefined && !matches)
    throw fail('If-Match', etag === undefined ? 'If-Match: it does not exist' : 'If-Match: not the current ETag');
  if (etag !== undefined && isNotModified(header('if-none-match'), etag))
    throw fail('If-None-Match', 'If-None-Match: it exists');
}
