// Sends OAuth errors as JSON (RFC 6749 section 5.2) for thrown errors and for requests that cannot be read.
import { STATUS_CODES } from 'node:http';
import { isUnavailable } from '@bay-booking/service/database/database';
import { noteCause, type RequestLocals } from '@bay-booking/service/http/app';
import type { MalformedRequestResponder } from '@bay-booking/service/http/malformed-request';
import type { ErrorRequestHandler, Request, Response } from 'express';

export const serverError = {
  error: 'server_error',
  error_description: 'the request could not be served',
} as const;

/** Must be the last middleware of the application. The routers of pages have another error handler. */
export const handleError: ErrorRequestHandler = (error: Error & { status?: number }, request, response, _next) => {
  const { status } = error;
  const unavailable = isUnavailable(error) || status === 503;
  const causedByClient = status !== undefined && status >= 400 && status < 500;
  if (unavailable) noteCause(response, error);
  if (!unavailable && !causedByClient) {
    (response.locals as RequestLocals).logger.error({ err: error, path: request.path }, 'request failed');
  }
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.setHeader('Cache-Control', 'no-store');
  if (unavailable) response.status(503).set('Retry-After', retryAfter).json(temporarilyUnavailable);
  else if (causedByClient) response.status(status).json({ error: 'invalid_request' });
  else response.status(500).json(serverError);
};

export interface RejectedBody {
  readonly status: number;
  readonly error: 'invalid_request';
  readonly description: string;
}

/** Responds if Express's body parser rejected a body. Must be the last middleware of a router that parses bodies. */
export const handleRejectedBody = (
  respond: (request: Request, response: Response, rejected: RejectedBody) => unknown = respondAsJson,
): ErrorRequestHandler =>
  function respondToRejectedBody(error: { status?: number; type?: string }, request, response, next) {
    const { status } = error;
    // Only the errors of Express's body parser have a `type`.
    if (response.headersSent || error.type === undefined || status === undefined || status >= 500) return next(error);
    const description = status === 413 ? 'the request is too long' : 'the body of the request cannot be read';
    response.setHeader('Cache-Control', 'no-store');
    return respond(request, response, { status, error: 'invalid_request', description });
  };

const respondAsJson = (_request: Request, response: Response, { status, error, description }: RejectedBody) =>
  response.status(status).json({ error, error_description: description });

export const malformedRequestResponse: MalformedRequestResponder = (status) => ({
  headers: {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  },
  body: JSON.stringify({ error: 'invalid_request', error_description: STATUS_CODES[status] }),
});

export const retryAfter = '2';

export const temporarilyUnavailable = {
  error: 'temporarily_unavailable',
  error_description: 'the service is temporarily unavailable, try again',
} as const;
