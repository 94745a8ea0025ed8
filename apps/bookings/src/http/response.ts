// Writes the headers of every response, the responses of endpoints and, with the error envelope, of every error. Only
// the log has details of unexpected errors (docs/behaviour.md, "Status codes").
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { ApiError } from '@bay-booking/common/errors';
import type { Link } from '@bay-booking/common/links';
import { isUnavailable } from '@bay-booking/service/database/database';
import { sendErrors } from '@bay-booking/service/http/app';
import { contentHash, isNotModified, tagsToMatch } from '@bay-booking/service/http/etag';
import type { MalformedRequestResponder } from '@bay-booking/service/http/malformed-request';
import type { Express, NextFunction, Request, Response } from 'express';
import { apiError, problemOf, unavailable } from '../errors.ts';

const exposedHeaders = [
  'DPoP-Nonce',
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Limit',
  'RateLimit-Policy',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ');

/** Any origin may read the responses, because they depend on a token and never on a cookie. */
export const commonHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposedHeaders,
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

const commonEntries = new Map(Object.entries(commonHeaders));

export function setCommonHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeaders(commonEntries);
  next();
}

export function sendResponse(request: Request, response: Response, result: EndpointResponse): void {
  const { status, body, headers = {} } = result;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  response.setHeader('Cache-Control', isRead ? 'private, no-cache' : 'no-store');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // `request.fresh` of Express is false for every `fetch` with If-None-Match, because `fetch` adds
  // `Cache-Control: no-cache`.
  if (isRead && headers.ETag !== undefined && isNotModified(request.get('if-none-match'), headers.ETag))
    response.status(304).end();
  else if (body === undefined) response.status(status).end();
  else sendJson(response.status(status), body);
}

/** `json` of Express parses the content type of each response again: 8 % of the CPU time of a GET. */
function sendJson(response: Response, body: unknown): void {
  const text = JSON.stringify(body);
  const bytes = Buffer.byteLength(text);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', bytes);
  // Node writes Latin-1 faster than UTF-8. The bytes of ASCII are the same in both.
  response.end(text, bytes === text.length ? 'latin1' : 'utf8');
}

const contentEtag = (body: object): string => contentHash(JSON.stringify(body));

export function versionedResponse(resource: object): EndpointResponse {
  return { status: 200, body: resource, headers: { ETag: `"${contentEtag(resource)}"` } };
}

export function createdResponse(resource: { readonly _links: { readonly self: Link } }): EndpointResponse {
  const { body, headers } = versionedResponse(resource);
  return { status: 201, body, headers: { ...headers, Location: resource._links.self.href } };
}

/** @throws {ApiError} 412 */
export function checkIfMatch(ifMatch: string | undefined, resource: object): void {
  const etags = tagsToMatch(ifMatch);
  if (etags && !etags.includes(contentEtag(resource))) throw apiError('ERR00412');
}

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
