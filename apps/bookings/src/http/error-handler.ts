// Turns every error into a response with the error envelope. Details of an unexpected error appear only in the log.
//
// `errorContext` is the default `contextData` of the errors of a path. The router stores it in `response.locals`.
import { ApiError } from '@bay-booking/common/errors';
import { isUnavailable } from '@bay-booking/service/database/database';
import type { RequestLocals } from '@bay-booking/service/http/app';
import type { Express, NextFunction, Request, Response } from 'express';
import { apiError, unavailable } from '../errors.ts';
import { sendError } from './response.ts';

/** Must be mounted after all routes, because a request that reaches this handler without an error gets 404. */
export function mountErrorHandler(app: Express): void {
  app.use(() => {
    throw apiError('ERR00404');
  });
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    const { logger, errorContext } = response.locals as RequestLocals & { errorContext?: Record<string, unknown> };
    const sent = apiErrorOf(error);
    // The log entry and the metrics of the request contain these codes.
    response.locals.codes = sent.problems.map(({ code }) => code);
    // A client error has a cause only if it shows a defect of the service.
    if (sent.status >= 500 || sent.cause !== undefined) logger.error({ err: error }, sent.problems[0]?.code);
    sendError(response, sent, errorContext);
  });
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isUnavailable(error)) return unavailable(error);
  return apiError('ERR00500', { cause: error });
}
