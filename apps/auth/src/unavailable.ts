// What do we answer while the database is away, or somebody else whom we have to ask? 503 with Retry-After, without inner detail: to the
// library as its own error, from an Express route of ours as JSON.
import { isUnavailable } from '@bay-booking/service/database';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
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

export const unavailableAsJson =
  (handler: RequestHandler): RequestHandler =>
  async (request: Request, response: Response, next: NextFunction) => {
    try {
      await handler(request, response, next);
    } catch (error) {
      if (!isUnavailable(error) && (error as { status?: number }).status !== 503) throw error;
      response.status(503).set('Retry-After', retryAfter).json(temporarilyUnavailable);
    }
  };
