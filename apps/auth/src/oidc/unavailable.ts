// Turns "the database is unavailable" into the error that makes oidc-provider return 503 temporarily_unavailable.
import { isUnavailable } from '@bay-booking/service/database/database';
import { errors } from 'oidc-provider';
import { temporarilyUnavailable } from '../http/unavailable.ts';

/** The client should send the same request again later. */
export function unavailable(cause: unknown): Error {
  const error = new errors.TemporarilyUnavailable(temporarilyUnavailable.error_description, {
    cause,
    detail: 'database unavailable',
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
