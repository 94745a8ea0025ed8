// Serves the names of a facility's people and clients to the access tokens of the facility (docs/behaviour-auth.md,
// "Names").
import type { Database } from '@bay-booking/service/database/database';
import { contentHash, isNotModified } from '@bay-booking/service/http/etag';
import { type Request, Router } from 'express';
import type { AccountStore } from '../../accounts/store.ts';
import type { Audit } from '../../audit/audit.ts';
import { findPeople } from '../../facilities/people-store.ts';
import type { RevocationStore } from '../../revocations/store.ts';
import { peoplePath } from '../paths.ts';
import type { ProviderManager } from '../provider-manager.ts';
import { createAccessTokenVerifier, findActive } from '../tokens/access-token-verifier.ts';
import type { ProofVerifier } from '../tokens/dpop.ts';
import { orUnavailable } from '../unavailable.ts';
import { type BearerError, presentedTokenOf, sendBearerError } from './bearer-token.ts';
import { createBindingCheck, invalidToken } from './token-binding.ts';

export function peopleRoutes(
  {
    db,
    audit,
    proofs,
    accounts,
    revocations,
  }: {
    readonly db: Database;
    readonly audit: Audit;
    readonly proofs: ProofVerifier;
    readonly accounts: AccountStore;
    readonly revocations: RevocationStore;
  },
  { provider, signingKeys }: Pick<ProviderManager, 'provider' | 'signingKeys'>,
): Router {
  const findBindingError = createBindingCheck(proofs);

  const facilitiesOf = async (request: Request): Promise<readonly string[] | BearerError> => {
    const { issuer, AccessToken } = provider();
    const presented = presentedTokenOf(request);
    if ('status' in presented) return presented;
    const { scheme } = presented;
    const token = await createAccessTokenVerifier({ issuer, keys: signingKeys() })(presented.token);
    // An opaque token is for userinfo only.
    if (!token) return (await AccessToken.find(presented.token)) ? [] : { ...invalidToken, scheme };
    const url = issuer + new URL(request.originalUrl, issuer).pathname;
    const bindingError = await findBindingError(request, presented, token, url);
    if (bindingError) return { scheme, ...bindingError };
    const active = await findActive(provider(), token, accounts.findWithMemberships, revocations.isRevoked);
    return active ? (token.facilities ?? []) : { ...invalidToken, scheme };
  };

  const router = Router({ caseSensitive: true, strict: true });
  router.get('/facilities/:id/people', async (request, response) => {
    response.locals.route = peoplePath;
    const facilities = await facilitiesOf(request);
    if ('status' in facilities) return sendBearerError(response, provider().issuer, facilities);
    const id = request.params.id;
    if (!facilities.includes(id)) {
      const error_description = 'the access token does not name this facility';
      response.status(404).set('Cache-Control', 'no-store').json({ error: 'not_found', error_description });
      return;
    }
    // What the user has just done may not be stored yet.
    await audit.flush();
    const body = JSON.stringify(await orUnavailable(() => findPeople(db, id)));
    const etag = `"${contentHash(body)}"`;
    response.set({ 'Cache-Control': 'private, max-age=60', Vary: 'Authorization', ETag: etag });
    if (isNotModified(request.get('If-None-Match'), etag)) response.status(304).end();
    else response.type('application/json').send(body);
  });
  return router;
}
