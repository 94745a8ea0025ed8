// Verifies access tokens of this server (RFC 9068 section 4), reads those of requests to our own endpoints, and sends
// error responses (RFC 6750 section 3, RFC 9449 section 7).
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import type { Request, RequestHandler, Response } from 'express';
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose';
import { errors, type Provider } from 'oidc-provider';
import type { AccountStore, AccountWithMemberships } from '../../accounts/store.ts';
import type { RevocationStore } from '../../revocations/store.ts';
import type { ProviderManager } from '../provider-manager.ts';
import { splitScope } from '../scopes.ts';
import type { ProofVerifier } from '../tokens/dpop.ts';
import { orUnavailable } from '../unavailable.ts';

/** The claims. Tokens of client_credentials have no `grant_id`, and bearer tokens no `cnf` (RFC 9449 section 6.1). */
export type VerifiedAccessToken = JWTPayload & {
  readonly jti: string;
  readonly sub: string;
  readonly client_id: string;
  readonly scope?: string;
  readonly grant_id?: string;
  readonly facilities?: readonly string[];
  readonly amr?: readonly string[];
  readonly cnf?: { readonly jkt?: string };
};

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi'] as const;

/** Resolves to undefined if the token is not valid. */
export function createAccessTokenVerifier({ issuer, keys }: { issuer: string; keys: readonly object[] }) {
  const publicKeys = keys.map((key) =>
    Object.fromEntries(Object.entries(key).filter(([member]) => !privateMembers.includes(member as never))),
  );
  const keySet = createLocalJWKSet({ keys: publicKeys as never });
  return async (token: string): Promise<VerifiedAccessToken | undefined> => {
    try {
      const { payload } = await jwtVerify(token, keySet, { issuer, typ: 'at+jwt', algorithms: ['ES256'] });
      // Only this server signs such tokens, so the other claims have their types.
      return typeof payload.sub === 'string' && typeof payload.client_id === 'string'
        ? (payload as VerifiedAccessToken)
        : undefined;
    } catch {
      return undefined;
    }
  };
}

export type FindAccount = (id: string) => Promise<AccountWithMemberships | undefined>;

/** A token of client_credentials has neither a grant nor an account. */
export async function findActive(
  provider: Provider,
  token: VerifiedAccessToken,
  findAccount: FindAccount,
  isRevoked: RevocationStore['isRevoked'],
) {
  const { jti: tokenId, client_id: clientId, grant_id: grantId, sub: subject, facilities = [], iat = 0 } = token;
  const [revoked, client, grant, account] = await Promise.all([
    orUnavailable(() => isRevoked({ tokenId, clientId, grantId, subject, facilities }, iat)),
    provider.Client.find(clientId),
    grantId === undefined ? undefined : provider.Grant.find(grantId),
    grantId === undefined ? undefined : orUnavailable(() => findAccount(subject)),
  ]);
  if (revoked || !client) return undefined;
  if (grantId === undefined) return { client };
  const isOwn = grant?.accountId === subject && grant.clientId === clientId;
  return isOwn && account && !account.isDisabled ? { client, grant, account } : undefined;
}

/** If the request has no token, `error` is undefined (RFC 6750 section 3.1). */
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
    // If the request has no token, the response names both schemes.
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
