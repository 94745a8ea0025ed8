// Serves the names of a facility's people and clients to the access tokens of the facility (docs/behaviour-auth.md,
// "Names").
import type { Database } from '@bay-booking/service/database/database';
import { contentHash, isNotModified } from '@bay-booking/service/http/etag';
import { type Request, Router } from 'express';
import type { Audit } from '../../audit/audit.ts';
import { findPeople } from '../../facilities/people-store.ts';
import { peoplePath } from '../paths.ts';
import type { ProviderManager } from '../provider-manager.ts';
import { orUnavailable } from '../unavailable.ts';
import { isOpaque, presentedTokenOf, sendBearerError, type TokenReader } from './bearer-token.ts';

export function peopleRoutes(
  db: Database,
  audit: Audit,
  readToken: TokenReader,
  { provider }: Pick<ProviderManager, 'provider'>,
): Router {
  /** Such a token is valid, but for userinfo only. */
  const hasOpaqueToken = async (request: Request): Promise<boolean> => {
    const presented = presentedTokenOf(request);
    if (!('token' in presented) || !isOpaque(presented.token)) return false;
    return (await provider().AccessToken.find(presented.token)) !== undefined;
  };

  const router = Router({ caseSensitive: true, strict: true });
  router.get('/facilities/:id/people', async (request, response) => {
    response.locals.route = peoplePath;
    const found = await readToken(request);
    if ('status' in found && !(await hasOpaqueToken(request)))
      return sendBearerError(response, provider().issuer, found);
    const { id } = request.params;
    if ('status' in found || !found.token.facilities?.includes(id)) {
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
