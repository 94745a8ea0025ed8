// Ends the session of a browser, and queues logout tokens for the clients of the session.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { queueLogoutTokens } from '../../backchannel-logout/statements.ts';
import { hashSecret } from '../../secrets.ts';
import { orUnavailable } from '../unavailable.ts';

/** `id` is the value of the session cookie. */
export type EndSession = (id: string) => Promise<void>;

export interface EndedSessionOptions {
  readonly db: Queryable;
  readonly sendLogoutTokens: () => void;
}

export const createEndSession =
  ({ db, sendLogoutTokens }: EndedSessionOptions): EndSession =>
  async (id) => {
    await orUnavailable(() =>
      query(
        db,
        `with ended as (
           delete from oidc_artifact where model = 'Session' and id = $1 returning account_id, payload)
         ${queueLogoutTokens}`,
        [hashSecret(id)],
      ),
    );
    sendLogoutTokens();
  };
