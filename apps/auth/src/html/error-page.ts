// Sends an error page if the handler of a page throws an error.
import { isUnavailable } from '@bay-booking/service/database/database';
import type { ErrorRequestHandler } from 'express';
import { errorMessages } from './error-messages.ts';
import { type FindLayoutUser, renderPage } from './render.ts';
import { sendHtml } from './response-headers.ts';

/** The value of Retry-After in responses with the status 503, for example while the database is unavailable. */
const retryAfterSeconds = 5;

interface PageError extends Error {
  /**
   * Set by the parser of bodies, for example 413 if the body is too large. Also set if the sign-in has expired, and if
   * too many passwords wait to be hashed (503).
   */
  readonly status?: number;
  /** Express sets this status, for example if it cannot decode the address. */
  readonly statusCode?: number;
}

/** Creates the error handler of Express. `findLayoutUser` finds the user whose name the error page shows. */
export const createErrorHandler =
  (findLayoutUser: FindLayoutUser): ErrorRequestHandler =>
  async (error: PageError, request, response, next) => {
    if (response.headersSent) return next(error);
    const status = isUnavailable(error) ? 503 : (error.status ?? error.statusCode ?? 500);
    if (status >= 500 && status !== 503) response.locals.logger?.error({ err: error }, 'page failed');
    if (status === 503) response.setHeader('Retry-After', String(retryAfterSeconds));
    const { title, text } = messageFor(error, status);
    // After a server error, the page does not read the session, because reading the session may have caused the error.
    const user = status < 500 ? await findLayoutUser(request, response) : undefined;
    // With the request id, an operator finds the log lines of the request.
    const details = [{ name: 'Reference', value: response.locals.requestId as string }];
    const html = renderPage('message', { message: { title, text, tone: 'bad', details } }, { title, user });
    sendHtml(response, html, { status });
  };

function messageFor(error: PageError, status: number) {
  // The error means that the interaction has ended or belongs to another browser (oidc/interactions.ts).
  if (error.name === 'InteractionExpired') return errorMessages.signInExpired;
  if (status === 503) return errorMessages.unavailable;
  return status >= 500 ? errorMessages.internal : errorMessages.badRequest;
}
