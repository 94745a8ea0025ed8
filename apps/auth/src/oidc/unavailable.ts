// Turns the errors of an unavailable database into an error for which oidc-provider returns a 503
// `temporarily_unavailable`.
import { isUnavailable } from '@bay-booking/service/database/database';
import { errors } from 'oidc-provider';
import { temporarilyUnavailable } from '../http/unavailable.ts';

export function unavailable(cause: unknown): Error {
  const error = new errors.TemporarilyUnavailable(temporarilyUnavailable.error_description, {
    cause,
    // The reason in the audit trail (event-listeners.ts). The response does not contain this text.
    detail: 'database unavailable',
  });
  // The error class of oidc-provider has the status 400.
  return Object.assign(error, { status: 503, statusCode: 503 });
}

/** Runs `work`. If `work` fails because the database is unavailable, throws the error of `unavailable` instead. */
export async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isUnavailable(error) ? unavailable(error) : error;
  }
}
