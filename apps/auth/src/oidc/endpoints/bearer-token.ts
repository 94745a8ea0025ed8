// Reads the access token of a userinfo request, and sends error responses (RFC 6750 section 3, RFC 9449 section 7).
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import type { Request, RequestHandler, Response } from 'express';

/** The error of a userinfo request. If the request has no token, `error` is undefined (RFC 6750 section 3.1). */
export interface BearerError {
  readonly status: 400 | 401 | 403;
  readonly error?: string;
  readonly description?: string;
  /** The authentication scheme that `WWW-Authenticate` names first. */
  readonly scheme?: 'Bearer' | 'DPoP';
  /** The value of the header `DPoP-Nonce`. */
  readonly nonce?: string | undefined;
}

/** The unverified token in an Authorization header, and the authentication scheme before the token. */
export interface PresentedToken {
  readonly scheme: 'Bearer' | 'DPoP';
  readonly token: string;
}

const schemes: ReadonlyMap<string, 'Bearer' | 'DPoP'> = new Map([
  ['bearer', 'Bearer'],
  ['dpop', 'DPoP'],
]);

/**
 * Returns the token of the Authorization header. Returns an error if the header is missing or malformed, or if the
 * query string contains a token.
 */
export function presentedTokenOf(request: Request): PresentedToken | BearerError {
  if (request.query.access_token !== undefined) {
    const description = 'access tokens must not be provided via query parameter';
    return { status: 400, error: 'invalid_request', description };
  }
  const header = request.get('authorization');
  if (header === undefined) return { status: 401 };
  const [name = '', token, ...more] = header.split(' ');
  const scheme = schemes.get(name.toLowerCase());
  if (scheme === undefined || !token || more.length > 0) {
    const description = 'the authorization header must be Bearer and one token';
    return { status: 401, error: 'invalid_request', description };
  }
  return { scheme, token };
}

/**
 * Moves the token of a form into the Authorization header, from which all later code reads the token. Rejects a request
 * with several tokens in the form, or with a token in both the form and the header (RFC 6750 section 2).
 */
export const moveBodyTokenToHeader: RequestHandler = (request, response, next) => {
  const token = (request.body as { access_token?: unknown } | undefined)?.access_token;
  // The body has already been read. If the token is opaque, oidc-provider serves the request. Without these headers,
  // oidc-provider does not try to read the body again.
  delete request.headers['content-type'];
  delete request.headers['content-length'];
  delete request.headers['transfer-encoding'];
  if (token === undefined) return next();
  if (typeof token !== 'string' || request.headers.authorization !== undefined) {
    response.status(400).json({
      error: 'invalid_request',
      error_description: 'access token must only be provided using one mechanism',
    });
    return;
  }
  request.headers.authorization = `Bearer ${token}`;
  next();
};

/** Sends an error with the header `WWW-Authenticate`, which names the schemes that the client can use. */
export function sendBearerError(response: Response, issuer: string, bearerError: BearerError): void {
  const { status, error, description, scheme = 'Bearer', nonce } = bearerError;
  const algorithms = `algs="${dpopAlgorithms.join(' ')}"`;
  const challenge = [
    `realm="${issuer}"`,
    ...(error ? [`error="${error}"`, `error_description="${description}"`] : []),
    ...(error === 'insufficient_scope' ? ['scope="openid"'] : []),
    ...(scheme === 'DPoP' ? [algorithms] : []),
    // `error` is undefined if the request had no token. The response then names both schemes.
    ...(error === undefined ? [`DPoP realm="${issuer}"`, algorithms] : []),
  ];
  if (nonce !== undefined) response.set('DPoP-Nonce', nonce);
  response
    .status(status)
    .set('WWW-Authenticate', `${scheme} ${challenge.join(', ')}`)
    .set('Cache-Control', 'no-store')
    .json({
      error: error ?? 'invalid_token',
      error_description: description ?? 'no access token provided',
    });
}
