// Writes the headers of every response and, with the error envelope, the responses to errors. Only the log has details
// of unexpected errors (docs/behaviour.md, "Status codes").
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { Link } from '@bay-booking/common/links';
import { apiErrorOf, mountPath } from '@bay-booking/service/http/api/router';
import { sendErrors } from '@bay-booking/service/http/app';
import { contentHash, tagsToMatch } from '@bay-booking/service/http/etag';
import type { MalformedRequestResponder } from '@bay-booking/service/http/malformed-request';
import type { Express, NextFunction, Request, RequestHandler, Response, Router } from 'express';
import { apiError, errors, problemOf } from '../errors.ts';

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

const contentEtag = (body: object): string => contentHash(JSON.stringify(body));

export function versionedResponse(resource: object): EndpointResponse {
  return { status: 200, body: resource, headers: { ETag: `"${contentEtag(resource)}"` } };
}

export function createdResponse(resource: { readonly _links: { readonly self: Link } }): EndpointResponse {
  const { body, headers } = versionedResponse(resource);
  return { status: 201, body, headers: { ...headers, Location: resource._links.self.href } };
}

/** @throws {ApiError} 412 */
export function checkResourceEtag(ifMatch: string | undefined, resource: object): void {
  const etags = tagsToMatch(ifMatch);
  if (etags && !etags.includes(contentEtag(resource))) throw apiError('ERR00412');
}

/** What `mountEndpoints` and `mountPath` need. */
export const pathOptions = {
  errors,
  allowedHeaders:
    'Authorization, Content-Type, DPoP, Idempotency-Key, If-Match, If-None-Match, Prefer, X-Request-Id, ' +
    'traceparent, tracestate',
};

export function mountApiPath(router: Router, path: string, handlers: Readonly<Record<string, RequestHandler>>): void {
  mountPath(router, path, handlers, pathOptions);
}

/** Must be mounted after all routes. */
export function mountErrorHandler(app: Express): void {
  app.use(() => {
    throw apiError('ERR00404');
  });
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    // The router stores the default `contextData` of the path.
    sendErrors(response, apiErrorOf(error, errors), response.locals.errorContext);
  });
}

const malformedCodes = { 400: 'ERR00400', 408: 'ERR00408', 413: 'ERR00413', 421: 'ERR00400', 431: 'ERR00431' } as const;

/** Responds to a request that never reaches the application, such as malformed HTTP. */
export const respondToMalformed: MalformedRequestResponder = (status) => ({
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
