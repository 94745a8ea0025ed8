// Evaluates If-None-Match and If-Match (RFC 9110 sections 8.8.3 and 13.1), and derives entity tags from content.
import { createHash } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { Link } from '@bay-booking/common/links';
import { apiError } from '../errors.ts';

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

/** Derives a strong entity tag, without quotes, from the content: 22 characters with 132 bits of a hash. */
function contentEtag(body: object): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 22);
}

export function versionedResponse(resource: object): EndpointResponse {
  return { status: 200, body: resource, headers: { ETag: `"${contentEtag(resource)}"` } };
}

export function createdResponse(resource: { readonly _links: { readonly self: Link } }): EndpointResponse {
  const { body, headers } = versionedResponse(resource);
  return { status: 201, body, headers: { ...headers, Location: resource._links.self.href } };
}

/** @throws {ApiError} 412 if the header If-Match does not allow the current version of the resource */
export function checkIfMatch(ifMatch: string | undefined, resource: object): void {
  // Undefined if every ETag is allowed.
  const etags = tagsToMatch(ifMatch);
  if (etags && !etags.includes(contentEtag(resource))) throw apiError('ERR00412');
}
