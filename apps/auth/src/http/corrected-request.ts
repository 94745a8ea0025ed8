// Corrects the URL, the headers and the query of a request before other middleware reads them, and rejects requests
// with many parameters, because some libraries need quadratic time for them.
import type { Request, RequestHandler, Response } from 'express';

/**
 * Rewrites the path to the exact path of an endpoint, so that `/connect/Token/` becomes `/connect/token`. Otherwise
 * oidc-provider, which ignores case and a trailing slash, would serve the request without our middleware.
 */
export function normalisePath(paths: Iterable<string>): RequestHandler {
  const exactPaths = new Map([...paths].map((path) => [path.toLowerCase(), path]));
  return (request, _response, next) => {
    const { path, query } = splitUrl(request.url);
    setUrl(request, exactPaths.get(path.toLowerCase().replace(/\/$/, '')) ?? path, query);
    next();
  };
}

/** A parameter without a value counts as left out (RFC 6749 section 3.2). */
export function dropEmptyParameters(paths: ReadonlySet<string>): RequestHandler {
  return (request, _response, next) => {
    const { path, query } = splitUrl(request.url);
    if (query !== '' && paths.has(path)) setUrl(request, path, withoutEmptyParameters(query));
    next();
  };
}

function setUrl(request: { url: string }, path: string, query: string): void {
  request.url = query === '' ? path : `${path}?${query}`;
}

/** The request may have the absolute form (RFC 9112 section 3.2.2), and Node accepts a fragment. */
export function splitUrl(url: string): { readonly path: string; readonly query: string } {
  if (!url.startsWith('/') || url.includes('#')) {
    const { pathname = '/', search = '' } = URL.parse(url, 'http://local') ?? {};
    return { path: pathname, query: search.slice(1) };
  }
  const start = url.indexOf('?');
  return start === -1 ? { path: url, query: '' } : { path: url.slice(0, start), query: url.slice(start + 1) };
}

export const withoutEmptyParameters = (query: string): string =>
  query
    .split('&')
    .filter((parameter) => /=./s.test(parameter))
    .join('&');

/** One or more spaces follow the scheme (RFC 9110 section 11.4). oidc-provider accepts one. */
export const normaliseAuthorization: RequestHandler = ({ headers }, _response, next) => {
  if (headers.authorization !== undefined) headers.authorization = headers.authorization.replace(/^(\S+) +/, '$1 ');
  next();
};

const yearSeconds = 365 * 24 * 3600;

/**
 * Replaces the headers that a client could use to choose the links, redirects and cookies of oidc-provider, and sets
 * Strict-Transport-Security.
 */
export function trustIssuerHost(issuer: string): RequestHandler {
  const { host, protocol } = new URL(issuer);
  return (request, response, next) => {
    // Express derives the IP address from X-Forwarded-For and TRUST_PROXY.
    const address = request.ip;
    if (protocol === 'https:') response.setHeader('Strict-Transport-Security', `max-age=${yearSeconds}`);
    request.headers.host = host;
    request.headers['x-forwarded-host'] = host;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    if (address === undefined) delete request.headers['x-forwarded-for'];
    else request.headers['x-forwarded-for'] = address;
    next();
  };
}

const maxParameters = 100;
/** In bytes. Longer URLs do not work everywhere. */
const maxQuery = 8_192;

/** Sends the error `invalid_request`. */
export type RejectRequest = (
  request: Request,
  response: Response,
  rejected: { readonly status: number; readonly description: string },
) => unknown;

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
