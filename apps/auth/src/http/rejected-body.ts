// Sends an error if Express's body parser has rejected the body of a request, for example because it is too long.
import type { ErrorRequestHandler, Request, Response } from 'express';

export interface RejectedBody {
  readonly status: number;
  readonly error: 'invalid_request';
  readonly description: string;
}

/** Must be the last middleware of a router that parses bodies. */
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
