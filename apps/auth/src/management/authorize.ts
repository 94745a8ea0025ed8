// Decides whether a request has an access token for the management API.
import type { Operator } from '@bay-booking/records/endpoints';
import type { Request } from 'express';
import { allowedScopes } from '../oidc/clients/registered-client.ts';
import { type BearerError, challengeOf, presentedTokenOf } from '../oidc/endpoints/bearer-token.ts';
import { createBindingCheck, invalidToken } from '../oidc/endpoints/token-binding.ts';
import type { ProviderManager } from '../oidc/provider-manager.ts';
import { splitScope } from '../oidc/scopes.ts';
import { createAccessTokenVerifier, findActive } from '../oidc/tokens/access-token-verifier.ts';
import type { RevocationStore } from '../revocations/store.ts';
import { accountErrors } from './records.ts';

/** @throws {ApiError} 401 or 403 */
export type Authorize = (request: Request) => Promise<Operator>;

export function createAuthorize(
  {
    proofs,
    accounts,
    revocations,
    resource,
    scopes,
  }: {
    readonly proofs: Parameters<typeof createBindingCheck>[0];
    readonly accounts: { readonly findWithMemberships: Parameters<typeof findActive>[2] };
    readonly revocations: Pick<RevocationStore, 'isRevoked'>;
    readonly resource: { readonly managementAudience: string };
    readonly scopes: { readonly operateAuth: string };
  },
  { provider, signingKeys }: Pick<ProviderManager, 'provider' | 'signingKeys'>,
): Authorize {
  const findBindingError = createBindingCheck(proofs);

  const findCaller = async (request: Request): Promise<Operator | BearerError> => {
    const { issuer } = provider();
    const presented = presentedTokenOf(request);
    if ('status' in presented) return presented;
    const { scheme } = presented;
    const token = await createAccessTokenVerifier({ issuer, keys: signingKeys() })(presented.token);
    if (!token || token.aud !== resource.managementAudience) return { ...invalidToken, scheme };
    const url = issuer + new URL(request.originalUrl, issuer).pathname;
    const bindingError = await findBindingError(request, presented, token, url);
    if (bindingError) return bindingError;
    const scope = scopes.operateAuth;
    if (!splitScope(token.scope).includes(scope)) {
      return { status: 403, error: 'insufficient_scope', description: 'access token missing scope', scheme, scope };
    }
    const active = await findActive(provider(), token, accounts.findWithMemberships, revocations.isRevoked);
    if (!active || !allowedScopes(active.client).includes(scope)) return { ...invalidToken, scheme };
    return { clientId: token.client_id };
  };

  return async (request) => {
    const result = await findCaller(request);
    if ('clientId' in result) return result;
    const code = result.status === 403 ? 'ERR00403' : 'ERR00401';
    throw accountErrors.apiError(code, { headers: challengeOf(provider().issuer, result) });
  };
}
