// Replaces the headers Host, X-Forwarded-Host and X-Forwarded-Proto of every request with the values of ISSUER.
// oidc-provider builds links, redirects and cookies from these headers, so a client must not be able to choose them.
// X-Forwarded-For is replaced by the IP address of the client, which Express has determined with TRUST_PROXY. Also sets
// Strict-Transport-Security if ISSUER is an https URL.
import type { RequestHandler } from 'express';

const yearSeconds = 365 * 24 * 3600;

export function trustIssuerHost(issuer: string): RequestHandler {
  const { host, protocol } = new URL(issuer);
  return (request, response, next) => {
    // The address must be read before the headers change, because Express derives it from X-Forwarded-For.
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
