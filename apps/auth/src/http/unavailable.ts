// What do we answer while the database is away, or somebody else whom we have to ask? 503 with Retry-After, without inner detail; the
// library is told by an error of its own.
import { isUnavailable } from '@bay-booking/service/database/database';
import { errors } from 'oidc-provider';

export const retryAfter = '2';
export const temporarilyUnavailable = {
  error: 'temporarily_unavailable',
  error_description: 'the service is not available for a moment, try again',
} as const;

/** It is the client's turn to try again, not a fault of its request. */
export function unavailable(cause: unknown): Error {
  const error = new errors.TemporarilyUnavailable(temporarilyUnavailable.error_description, {
    cause,
    detail: 'database away',
  });
  return Object.assign(error, { status: 503, statusCode: 503 });
}

export async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isUnavailable(error) ? unavailable(error) : error;
  }
}
