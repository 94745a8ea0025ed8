// Adds the ETag of a response to its resource, so that a later change can name the version that it is based on.
import type { ApiResponse, RequestOptions } from './operations.ts';

/** A resource with the `ETag` of its response. */
export type Versioned<Resource> = Resource & { readonly etag: string };

export interface CreateOptions extends RequestOptions {
  /**
   * Makes a repeated call harmless for 24 hours, also after a restart of your program. By default, each call has a key
   * of its own, which protects the retries of this call.
   */
  readonly idempotencyKey?: string | undefined;
}

export interface ChangeOptions extends RequestOptions {
  /** The `etag` of the version that you have seen. If the resource has changed since, the call fails with ERR00412. */
  readonly ifMatch?: string | undefined;
}

export function versioned<Resource>({ data, headers }: ApiResponse<Resource>): Versioned<NonNullable<Resource>> {
  return { ...(data as NonNullable<Resource>), etag: headers.get('etag') ?? '' };
}

export const conditional = ({ ifMatch, ...options }: ChangeOptions) =>
  ifMatch === undefined ? options : { ...options, headers: { 'If-Match': ifMatch } };
