// Adds the ETag of a response to its resource, so that a later change can name the version that it is based on. Also
// defines the options of calls that create or change a resource.
import type { ApiResponse, RequestOptions } from './operations.ts';

export type Versioned<Resource> = Resource & { readonly etag: string };

export interface CreateOptions extends RequestOptions {
  /**
   * A second call with the same key does not create a second resource. The service remembers a key for 24 hours, so you
   * can repeat a call even after a restart of your program. Default: a new key for each call, which all retries of the
   * call use.
   */
  readonly idempotencyKey?: string | undefined;
}

export interface ChangeOptions extends RequestOptions {
  /**
   * The `etag` of the version that you have seen. If the resource has changed since, the call fails with ERR00412.
   * Without `ifMatch`, the call changes the current version.
   */
  readonly ifMatch?: string | undefined;
}

/**
 * Used only for responses that have a body and an ETag. The type of a resource may include `undefined` for the status
 * 304, but the callers of this function send no If-None-Match and therefore never get this status.
 */
export function versioned<Resource>({ data, headers }: ApiResponse<Resource>): Versioned<NonNullable<Resource>> {
  return { ...(data as NonNullable<Resource>), etag: headers.get('etag') ?? '' };
}

/** Returns request options in which the header If-Match replaces `ifMatch`. */
export const conditional = ({ ifMatch, ...options }: ChangeOptions) =>
  ifMatch === undefined ? options : { ...options, headers: { 'If-Match': ifMatch } };
