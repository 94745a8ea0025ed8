// Serves userinfo for JWT access tokens (OpenID Connect Core section 5.3). oidc-provider accepts only opaque tokens.
import express, { type Request, type RequestHandler, Router } from 'express';
import { errors } from 'oidc-provider';
import { allowEveryOrigin } from '../../http/cors.ts';
import { handleRejectedBody } from '../../http/rejected-body.ts';
import type { Services } from '../../services.ts';
import { routes } from '../paths.ts';
import type { ProviderManager } from '../provider-manager.ts';
import { isOpenidFamily, splitScope } from '../scopes.ts';
import { createAccessTokenVerifier, type VerifiedAccessToken } from '../tokens/access-token-verifier.ts';
import { findActive } from '../tokens/active-token.ts';
import { claimsOf } from '../tokens/claims.ts';
import {
  type BearerError,
  moveBodyTokenToHeader,
  type PresentedToken,
  presentedTokenOf,
  sendBearerError,
} from './bearer-token.ts';

const path = routes.userinfo;
const missingScope: BearerError = {
  status: 403,
  error: 'insufficient_scope',
  description: 'access token missing openid scope',
};
const invalidToken: BearerError = { status: 401, error: 'invalid_token', description: 'invalid token provided' };

export function createUserinfo(
  { proofs, accounts, revocations }: Services,
  { provider, signingKeys }: Pick<ProviderManager, 'provider' | 'signingKeys'>,
): Router {
  /** A bound token needs the scheme DPoP and a proof, any other token the scheme Bearer (RFC 9449 section 7). */
  const findBindingError = async (
    request: Request,
    presented: PresentedToken,
    token: VerifiedAccessToken,
  ): Promise<BearerError | undefined> => {
    const { cnf: { jkt } = {}, client_id: clientId } = token;
    const scheme = 'DPoP';
    const isBound = jkt !== undefined;
    if (isBound !== (presented.scheme === scheme)) return { ...invalidToken, scheme };
    if (!isBound) return undefined;
    const invalidProof = (description: string) =>
      ({ status: 401, error: 'invalid_dpop_proof', description, scheme }) as const;
    const proof = request.get('DPoP');
    if (proof === undefined) return invalidProof('no DPoP proof provided');
    try {
      const url = provider().issuer + path;
      const verified = await proofs.verify({ proof, method: request.method, url, accessToken: presented.token });
      if (verified.jkt !== jkt) return { ...invalidToken, description: 'the token is bound to another key', scheme };
      return (await proofs.isFirstUse(clientId, verified.jti))
        ? undefined
        : invalidProof('DPoP proof was already used');
    } catch (error) {
      if (error instanceof errors.InvalidDpopProof) return invalidProof(error.error_description ?? '');
      if (!(error instanceof errors.UseDpopNonce)) throw error;
      const description = error.error_description ?? '';
      return { status: 401, error: error.error, description, nonce: proofs.nextNonce(), scheme };
    }
  };

  const userinfoOf = async (token: VerifiedAccessToken | undefined): Promise<Record<string, unknown> | BearerError> => {
    if (!token) return invalidToken;
    const scope = splitScope(token.scope).filter(isOpenidFamily);
    if (!scope.includes('openid')) return missingScope;
    const active = await findActive(provider(), token, accounts.findWithMemberships, revocations.isRevoked);
    if (!active?.grant) return invalidToken;
    const { client, grant, account } = active;
    const { Claims } = provider();
    return new Claims(claimsOf(account), { client }).scope(grant.getOIDCScopeFiltered(scope as string[])).result();
  };

  const serve: RequestHandler = async (request, response, next) => {
    const { issuer } = provider();
    const presented = presentedTokenOf(request);
    if ('status' in presented) return sendBearerError(response, issuer, presented);
    // oidc-provider, which is mounted later, serves opaque tokens.
    if (!looksLikeJwt(presented.token)) return next();
    const token = await createAccessTokenVerifier({ issuer, keys: signingKeys() })(presented.token);
    const bindingError = token && (await findBindingError(request, presented, token));
    const result = bindingError ?? (await userinfoOf(token));
    response.setHeader('Cache-Control', 'no-store');
    if (isBearerError(result)) sendBearerError(response, issuer, { scheme: presented.scheme, ...result });
    else response.json(result);
  };

  const router = Router();
  router.all(
    path,
    allowEveryOrigin({
      methods: 'GET, POST',
      requestHeaders: 'Authorization, Content-Type, DPoP',
      responseHeaders: 'WWW-Authenticate, DPoP-Nonce',
    }),
  );
  // The limit of oidc-provider
  router.post(path, express.urlencoded({ extended: false, limit: '56kb' }), moveBodyTokenToHeader);
  router.get(path, serve);
  router.post(path, serve);
  router.use(path, handleRejectedBody());
  return router;
}

const looksLikeJwt = (token: string): boolean => token.split('.').length === 3;
const isBearerError = (result: object): result is BearerError => 'status' in result;
