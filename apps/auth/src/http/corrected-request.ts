// Corrects the path, host and protocol of a request before other middleware reads them.
import type { RequestHandler } from 'express';

/**
 * Rewrites the path to the exact path of an endpoint, so that `/connect/Token/` becomes `/connect/token`. Otherwise
 * oidc-provider, which ignores case and a trailing slash, would serve the request without our middleware.
 */
export function normalisePath(paths: Iterable<string>): RequestHandler {
  const exactPaths = new Map([...paths].map((path) => [path.toLowerCase(), path]));
  return (request, _response, next) => {
    const [written = '', ...query] = request.url.split('?');
    const exact = exactPaths.get(written.toLowerCase().replace(/\/$/, ''));
    if (exact !== undefined && exact !== written) request.url = [exact, ...query].join('?');
    next();
  };
}

const yearSeconds = 365 * 24 * 3600;

/**
 * Replaces the headers that a client could use to choose the links, redirects and cookies of oidc-provider, and sets
 * Strict-Transport-Security.
 */
export function trustIssuerHost(issuer: string): RequestHandler {
  const { host, protocol } = new URL(issuer);
  return (request, response, next) => {
    // Express derives the address from X-Forwarded-For and TRUST_PROXY.
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
