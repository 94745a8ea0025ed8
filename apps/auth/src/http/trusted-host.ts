// Under which address are we known? Always ISSUER, whatever Host or forwarding headers a request carries, so that no link, cookie or
// redirect can be steered by them. The client's address is the one that TRUST_PROXY says to believe.
import type { RequestHandler } from 'express';

export function trustIssuerHost(issuer: string): RequestHandler {
  const { host, protocol } = new URL(issuer);
  return (request, response, next) => {
    const address = request.ip;
    if (protocol === 'https:') response.setHeader('Strict-Transport-Security', 'max-age=31536000');
    request.headers.host = host;
    request.headers['x-forwarded-host'] = host;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    if (address === undefined) delete request.headers['x-forwarded-for'];
    else request.headers['x-forwarded-for'] = address;
    next();
  };
}
