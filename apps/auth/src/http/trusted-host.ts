// Replaces the headers that a client could use to choose the links, redirects and cookies of oidc-provider, and sets
// Strict-Transport-Security.
import type { RequestHandler } from 'express';

const yearSeconds = 365 * 24 * 3600;

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
