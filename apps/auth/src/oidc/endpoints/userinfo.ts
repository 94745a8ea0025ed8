// Serves userinfo for JWT access tokens (OpenID Connect Core section 5.3). oidc-provider accepts only opaque tokens.
import { type RequestHandler, Router } from 'express';
import type { AccountStore } from '../../accounts/store.ts';
import type { RevocationStore } from '../../revocations/store.ts';
import { routes } from '../paths.ts';
import type { ProviderManager } from '../provider-manager.ts';
import { isOpenidFamily, splitScope } from '../scopes.ts';
import { createAccessTokenVerifier, findActive, type VerifiedAccessToken } from '../tokens/access-token-verifier.ts';
import { claimsOf } from '../tokens/claims.ts';
import type { ProofVerifier } from '../tokens/dpop.ts';
import { type BearerError, moveBodyTokenToHeader, presentedTokenOf, sendBearerError } from './bearer-token.ts';
import { createBindingCheck, invalidToken } from './token-binding.ts';

const path = routes.userinfo;
const missingScope: BearerError = {
  status: 403,
  error: 'insufficient_scope',
  description: 'access token missing openid scope',
  scope: 'openid',
};

export function createUserinfo(
  {
    proofs,
    accounts,
    revocations,
  }: {
    readonly proofs: ProofVerifier;
    readonly accounts: AccountStore;
    readonly revocations: RevocationStore;
  },
  { provider, signingKeys }: Pick<ProviderManager, 'provider' | 'signingKeys'>,
): Router {
  const findBindingError = createBindingCheck(proofs);

  const userinfoOf = async (token: VerifiedAccessToken | undefined): Promise<Record<string, unknown> | BearerError> => {
    if (!token) return invalidToken;
    const scope = splitScope(token.scope).filter(isOpenidFamily);
    if (!scope.includes('openid')) return missingScope;
    const active = await findActive(provider(), token, accounts.findWithMemberships, revocations.isRevoked);
    if (!active?.grant) return invalidToken;
    const { client, grant, account } = active;
    const { Claims } = provider();
    return new Claims(claimsOf(account, token.amr), { client })
      .scope(grant.getOIDCScopeFiltered(scope as string[]))
      .result();
  };

  const serve: RequestHandler = async (request, response, next) => {
    const { issuer } = provider();
    const presented = presentedTokenOf(request);
    if ('status' in presented) return sendBearerError(response, issuer, presented);
    // oidc-provider, which is mounted later, serves opaque tokens.
    if (!looksLikeJwt(presented.token)) return next();
    const token = await createAccessTokenVerifier({ issuer, keys: signingKeys() })(presented.token);
    const bindingError = token && (await findBindingError(request, presented, token, issuer + path));
    const result = bindingError ?? (await userinfoOf(token));
    response.setHeader('Cache-Control', 'no-store');
    if (isBearerError(result)) sendBearerError(response, issuer, { scheme: presented.scheme, ...result });
    else response.json(result);
  };

  const router = Router();
  router.get(path, serve);
  router.post(path, moveBodyTokenToHeader, serve);
  return router;
}

const looksLikeJwt = (token: string): boolean => token.split('.').length === 3;
const isBearerError = (result: object): result is BearerError => 'status' in result;
