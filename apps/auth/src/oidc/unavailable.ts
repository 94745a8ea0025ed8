// Converts errors of an unavailable database to a 503 `temporarily_unavailable`.
import { isUnavailable, type Queryable, query } from '@bay-booking/service/database/database';
import { errors } from 'oidc-provider';
import { temporarilyUnavailable } from '../http/errors.ts';

export function unavailable(cause: unknown): Error {
  const error = new errors.TemporarilyUnavailable(temporarilyUnavailable.error_description, {
    cause,
    // For the audit trail only.
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

export const queryOrUnavailable = <Row extends object>(db: Queryable, sql: string, values: readonly unknown[]) =>
  orUnavailable(() => query<Row>(db, sql, values));
