// Ends a browser's session and queues logout tokens for the session's clients.
import type { Queryable } from '@bay-booking/service/database/database';
import { queueLogoutTokens } from '../../outbox/store.ts';
import { hashSecret } from '../../secrets.ts';
import { queryOrUnavailable } from '../unavailable.ts';

/** `id` is the value of the session cookie. */
export type EndSession = (id: string) => Promise<void>;

export const createEndSession =
  ({ db, sendLogoutTokens }: { db: Queryable; sendLogoutTokens: () => void }): EndSession =>
  async (id) => {
    await queryOrUnavailable(
      db,
      `with ended as (
         delete from oidc_artifact where model = 'Session' and id = $1 returning account_id, payload)
       ${queueLogoutTokens}`,
      [hashSecret(id)],
    );
    sendLogoutTokens();
  };
