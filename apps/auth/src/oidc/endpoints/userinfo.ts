// Serves userinfo for JWT access tokens (OpenID Connect Core section 5.3). oidc-provider accepts only opaque tokens.
import { type RequestHandler, Router } from 'express';
import { routes } from '../paths.ts';
import type { ProviderManager } from '../provider-manager.ts';
import { isOpenidFamily, splitScope } from '../scopes.ts';
import { claimsOf } from '../tokens/claims.ts';
import {
  invalidToken,
  isOpaque,
  moveBodyTokenToHeader,
  presentedTokenOf,
  sendBearerError,
  type TokenReader,
} from './bearer-token.ts';

const path = routes.userinfo;

export function createUserinfo(readToken: TokenReader, { provider }: Pick<ProviderManager, 'provider'>): Router {
  const serve: RequestHandler = async (request, response, next) => {
    const { issuer, Claims } = provider();
    const presented = presentedTokenOf(request);
    // oidc-provider, which is mounted later, serves opaque tokens.
    if ('token' in presented && isOpaque(presented.token)) return next();
    response.setHeader('Cache-Control', 'no-store');
    const found = await readToken(request, { scope: 'openid' });
    if ('status' in found) return sendBearerError(response, issuer, found);
    if (!found.grant) return sendBearerError(response, issuer, invalidToken);
    const { token, client, grant, account } = found;
    const scope = splitScope(token.scope).filter(isOpenidFamily);
    const claims = new Claims(claimsOf(account, token.amr), { client });
    response.json(await claims.scope(grant.getOIDCScopeFiltered(scope)).result());
  };

  const router = Router();
  router.get(path, serve);
  router.post(path, moveBodyTokenToHeader, serve);
  return router;
}
