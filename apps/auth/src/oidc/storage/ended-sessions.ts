// Ends the session of a browser, and queues logout tokens for the clients of the session.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { queueLogoutTokens } from '../../backchannel-logout/statements.ts';
import { hashSecret } from '../../secrets.ts';
import { orUnavailable } from '../unavailable.ts';

/** Ends the session whose cookie has the value `id`. */
export type EndSession = (id: string) => Promise<void>;

export interface EndedSessionOptions {
  readonly db: Queryable;
  /** Starts to send the queued logout tokens, and does not wait for them. */
  readonly sendLogoutTokens: () => void;
}

export const createEndSession =
  ({ db, sendLogoutTokens }: EndedSessionOptions): EndSession =>
  async (id) => {
    await orUnavailable(() =>
      query(
        db,
        // The table contains only the hash of the id. `queueLogoutTokens` reads the ended session from `ended`.
        `with ended as (
           delete from oidc_artifact where model = 'Session' and id = $1 returning account_id, payload)
         ${queueLogoutTokens}`,
        [hashSecret(id)],
      ),
    );
    sendLogoutTokens();
  };
