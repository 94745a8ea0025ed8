// What does an Express route answer to a body that it cannot read (too long, another encoding, too many fields)? Its own status, as the
// kind of answer that the route gives, and without inner detail.
import type { ErrorRequestHandler, Request, Response } from 'express';

export interface RejectedBody {
  readonly status: number;
  readonly error: 'invalid_request';
  readonly description: string;
}

/** Last of a router that parses bodies. */
export const handleRejectedBody = (
  answer: (request: Request, response: Response, refused: RejectedBody) => unknown,
): ErrorRequestHandler =>
  function answerUnreadable(error: { status?: number; type?: string }, request, response, next) {
    const { status } = error;
    // A body parser's errors alone have a type.
    if (response.headersSent || error.type === undefined || status === undefined || status >= 500) return next(error);
    const description = status === 413 ? 'the request is too long' : 'the body of the request cannot be read';
    response.setHeader('Cache-Control', 'no-store');
    return answer(request, response, { status, error: 'invalid_request', description });
  };
