// Reads and verifies the access tokens of requests to our own endpoints, and sends error responses (RFC 6750 section 3,
// RFC 9449 section 7).
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import type { Request, RequestHandler, Response } from 'express';
import { errors } from 'oidc-provider';
import type { AccountStore } from '../../accounts/store.ts';
import type { RevocationStore } from '../../revocations/store.ts';
import type { ProviderManager } from '../provider-manager.ts';
import { splitScope } from '../scopes.ts';
import { createAccessTokenVerifier, findActive, type VerifiedAccessToken } from '../tokens/access-token-verifier.ts';
import type { ProofVerifier } from '../tokens/dpop.ts';

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

export const invalidToken: BearerError = {
  status: 401,
  error: 'invalid_token',
  description: 'invalid token provided',
};

interface PresentedToken {
  readonly scheme: 'Bearer' | 'DPoP';
  readonly token: string;
}

/** oidc-provider stores opaque tokens. All others are JWTs. */
export const isOpaque = (token: string): boolean => token.split('.').length !== 3;

export type TokenReader = ReturnType<typeof createTokenReader>;

/** Returns a function that finds the claims, client, grant and account of the JWT that a request presents. */
export function createTokenReader(
  proofs: ProofVerifier,
  { findWithMemberships }: Pick<AccountStore, 'findWithMemberships'>,
  { isRevoked }: Pick<RevocationStore, 'isRevoked'>,
  { provider, signingKeys }: Pick<ProviderManager, 'provider' | 'signingKeys'>,
) {
  return async (request: Request, needed: { readonly audience?: string; readonly scope?: string } = {}) => {
    const { issuer } = provider();
    const presented = presentedTokenOf(request);
    if ('status' in presented) return presented;
    const { scheme } = presented;
    const token = await createAccessTokenVerifier({ issuer, keys: signingKeys() })(presented.token);
    if (!token || (needed.audience ?? token.aud) !== token.aud) return { ...invalidToken, scheme };
    const bindingError = await findBindingError(proofs, request, presented, token, issuer + request.path);
    if (bindingError) return bindingError;
    const { scope } = needed;
    if (scope !== undefined && !splitScope(token.scope).includes(scope)) {
      const description = `access token missing ${scope} scope`;
      return { status: 403, error: 'insufficient_scope', description, scheme, scope } satisfies BearerError;
    }
    const active = await findActive(provider(), token, findWithMemberships, isRevoked);
    return active ? { token, ...active } : { ...invalidToken, scheme };
  };
}

/** A bound token needs the scheme DPoP and a proof for `url`, any other token the scheme Bearer. */
async function findBindingError(
  proofs: ProofVerifier,
  request: Request,
  presented: PresentedToken,
  { cnf: { jkt } = {}, client_id: clientId }: VerifiedAccessToken,
  url: string,
): Promise<BearerError | undefined> {
  const scheme = 'DPoP';
  const isBound = jkt !== undefined;
  if (isBound !== (presented.scheme === scheme)) return { ...invalidToken, scheme };
  if (!isBound) return undefined;
  const invalidProof = (description: string) =>
    ({ status: 401, error: 'invalid_dpop_proof', description, scheme }) as const;
  const proof = request.get('DPoP');
  if (proof === undefined) return invalidProof('no DPoP proof provided');
  try {
    const verified = await proofs.verify({ proof, method: request.method, url, accessToken: presented.token });
    if (verified.jkt !== jkt) return { ...invalidToken, description: 'the token is bound to another key', scheme };
    return (await proofs.isFirstUse(clientId, verified.jti)) ? undefined : invalidProof('DPoP proof was already used');
  } catch (error) {
    if (error instanceof errors.InvalidDpopProof) return invalidProof(error.error_description ?? '');
    if (!(error instanceof errors.UseDpopNonce)) throw error;
    const description = error.error_description ?? '';
    return { status: 401, error: error.error, description, nonce: proofs.nextNonce(), scheme };
  }
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
