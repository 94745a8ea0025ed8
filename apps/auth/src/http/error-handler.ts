// What does a request to a route of ours get when its handler fails? 503 while something is away; else 500 as OAuth says it, with the
// reason in the log alone: Express itself would send the error's stack, and write it to no log of ours.
import { isUnavailable } from '@bay-booking/service/database/database';
import type { RequestLocals } from '@bay-booking/service/http/app';
import type { ErrorRequestHandler } from 'express';
import { retryAfter, temporarilyUnavailable } from './unavailable.ts';

export const serverError = {
  error: 'server_error',
  error_description: 'the request could not be served',
} as const;

/** Last of the application; pages have an answer of their own before. */
export const handleError: ErrorRequestHandler = (error: Error & { status?: number }, request, response, _next) => {
  const { status } = error;
  const away = isUnavailable(error) || status === 503;
  const refused = status !== undefined && status >= 400 && status < 500;
  if (!away && !refused) {
    (response.locals as RequestLocals).logger.error({ err: error, path: request.path }, 'request failed');
  }
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.setHeader('Cache-Control', 'no-store');
  if (away) response.status(503).set('Retry-After', retryAfter).json(temporarilyUnavailable);
  else if (refused) response.status(status).json({ error: 'invalid_request' });
  else response.status(500).json(serverError);
};
