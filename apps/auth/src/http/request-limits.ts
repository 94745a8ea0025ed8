// Rejects requests with many parameters before a library reads them, because some libraries need quadratic time.
import type { Request, RequestHandler, Response } from 'express';
import { splitUrl } from './corrected-request.ts';

const maxParameters = 100;
/** In bytes. Longer URLs do not work everywhere. */
const maxQuery = 8_192;

export interface RejectedRequest {
  readonly status: number;
  readonly description: string;
}

/** Sends the error `invalid_request`. */
export type RejectRequest = (request: Request, response: Response, rejected: RejectedRequest) => unknown;

/** Rejects requests to every path. */
export const limitQuery =
  (reject: RejectRequest): RequestHandler =>
  (request, response, next) => {
    const description = findQueryError(splitUrl(request.url).query);
    return description === undefined ? next() : reject(request, response, { status: 400, description });
  };

export function findQueryError(query: string): string | undefined {
  return query.length > maxQuery ? `the query has more than ${maxQuery} bytes` : findParameterError(query);
}

/** Counts empty parameters too. */
export function findParameterError(parameters: string): string | undefined {
  return parameters.split('&').length > maxParameters
    ? `the request has more than ${maxParameters} parameters`
    : undefined;
}
