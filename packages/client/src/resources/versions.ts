// Adds the response's ETag to the resource, so that a later change can name the version that it is based on.
import type { ApiResponse, RequestOptions } from '../operations.ts';

export type Versioned<Resource> = Resource & { readonly etag: string };

export interface CreateOptions extends RequestOptions {
  /** A second call with the same key within 24 hours creates no second resource. Default: a new key. */
  readonly idempotencyKey?: string | undefined;
}

export interface ChangeOptions extends RequestOptions {
  /** The `etag` that you have seen. If the resource has changed since, the call fails with ERR00412. */
  readonly ifMatch?: string | undefined;
}

/** `data` is undefined only for status 304, which needs If-None-Match. No caller sends it. */
export function versioned<Resource>({ data, headers }: ApiResponse<Resource>): Versioned<NonNullable<Resource>> {
  return { ...(data as NonNullable<Resource>), etag: headers.get('etag') ?? '' };
}

export const conditional = ({ ifMatch, ...options }: ChangeOptions = {}) =>
  ifMatch === undefined ? options : { ...options, headers: { 'If-Match': ifMatch } };
