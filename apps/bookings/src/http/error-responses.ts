// Converts every error to a response with the error envelope. Only the log has details of unexpected errors.
import { randomUUID } from 'node:crypto';
import { ApiError } from '@bay-booking/common/errors';
import { isUnavailable } from '@bay-booking/service/database/database';
import { sendErrors } from '@bay-booking/service/http/app';
import type { MalformedRequestResponder } from '@bay-booking/service/http/malformed-request';
import type { Express, NextFunction, Request, Response } from 'express';
import { apiError, problemOf, unavailable } from '../errors.ts';
import { commonHeaders } from './response.ts';

/** Must be mounted after all routes. */
export function mountErrorHandler(app: Express): void {
  app.use(() => {
    throw apiError('ERR00404');
  });
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    // The router stores the default `contextData` of the path.
    sendErrors(response, apiErrorOf(error), response.locals.errorContext);
  });
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isUnavailable(error)) return unavailable(error);
  return apiError('ERR00500', { cause: error });
}

const malformedCodes = { 400: 'ERR00400', 408: 'ERR00408', 413: 'ERR00413', 421: 'ERR00400', 431: 'ERR00431' } as const;

/** Responds to a request that never reaches the application, such as malformed HTTP. */
export const malformedRequestResponse: MalformedRequestResponder = (status) => ({
  headers: {
    ...commonHeaders,
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': randomUUID(),
  },
  body: JSON.stringify({ errors: [{ ...problemOf(malformedCodes[status]), moreInfo: moreInfoOf(status) }] }),
});

const moreInfoOf = (status: number): string => (status === 421 ? 'The Host header names another server.' : '');
