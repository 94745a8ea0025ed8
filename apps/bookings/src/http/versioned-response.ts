// Creates responses with a resource whose ETag is derived from its content, and checks If-Match against this ETag.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { Link } from '@bay-booking/common/links';
import { apiError } from '../errors.ts';
import { contentEtag, tagsToMatch } from './etag.ts';

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
