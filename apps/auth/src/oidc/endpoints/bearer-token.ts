// Reads the access token of a userinfo request, and sends error responses (RFC 6750 section 3, RFC 9449 section 7).
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import type { Request, RequestHandler, Response } from 'express';

/** Without a token in the request, `error` is undefined (RFC 6750 section 3.1). */
export interface BearerError {
  readonly status: 400 | 401 | 403;
  readonly error?: string;
  readonly description?: string;
  /** The scheme that `WWW-Authenticate` names first. */
  readonly scheme?: 'Bearer' | 'DPoP';
  readonly nonce?: string | undefined;
  /** The scope that the request needs, if the token lacks it. */
  readonly scope?: string;
}

export interface PresentedToken {
  readonly scheme: 'Bearer' | 'DPoP';
  readonly token: string;
}

export function presentedTokenOf(request: Request): PresentedToken | BearerError {
  const header = request.get('authorization') ?? '';
  const scheme = /^dpop\b/i.test(header) ? 'DPoP' : 'Bearer';
  if (request.query.access_token !== undefined) {
    const description = 'access tokens must not be provided via query parameter';
    return { status: 400, error: 'invalid_request', description, scheme };
  }
  if (header === '') return { status: 401 };
  const [, token] = /^(?:bearer|dpop) ([^ ]+)$/i.exec(header) ?? [];
  if (token === undefined) {
    const description = `the authorization header must be ${scheme} and one token`;
    return { status: 401, error: 'invalid_request', description, scheme };
  }
  return { scheme, token };
}

/** All later code reads the token from the header. There must be only one token (RFC 6750 section 2). */
export const moveBodyTokenToHeader: RequestHandler = (request, response, next) => {
  const token = (request.body as { access_token?: unknown } | undefined)?.access_token;
  // Without these headers, oidc-provider does not read the body again.
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

/** The headers of the response. */
export function challengeOf(
  issuer: string,
  { error, description, scheme = 'Bearer', nonce, scope }: BearerError,
): Record<string, string> {
  const algorithms = `algs="${dpopAlgorithms.join(' ')}"`;
  const challenge = [
    `realm="${issuer}"`,
    ...(error ? [`error="${error}"`, `error_description="${description}"`] : []),
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
    ...(scheme === 'DPoP' ? [algorithms] : []),
    // Without a token in the request, the response names both schemes.
    ...(error === undefined ? [`DPoP realm="${issuer}"`, algorithms] : []),
  ];
  return {
    'WWW-Authenticate': `${scheme} ${challenge.join(', ')}`,
    'Cache-Control': 'no-store',
    ...(nonce !== undefined && { 'DPoP-Nonce': nonce }),
  };
}

export function sendBearerError(response: Response, issuer: string, bearerError: BearerError): void {
  const { status, error, description } = bearerError;
  response
    .status(status)
    .set(challengeOf(issuer, bearerError))
    .json({
      error: error ?? 'invalid_token',
      error_description: description ?? 'no access token provided',
    });
}
