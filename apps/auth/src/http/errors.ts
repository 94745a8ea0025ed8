// Sends OAuth errors as JSON (RFC 6749 section 5.2) for thrown errors and for malformed requests.
import { STATUS_CODES } from 'node:http';
import { isUnavailable } from '@bay-booking/service/database/database';
import { noteCause, type RequestLocals } from '@bay-booking/service/http/app';
import type { MalformedRequestResponder } from '@bay-booking/service/http/malformed-request';
import type { ErrorRequestHandler } from 'express';

export const serverError = { error: 'server_error', error_description: 'the request could not be served' } as const;

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
