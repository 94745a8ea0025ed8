// Takes logout tokens from the queue (table `backchannel_logout`).
import { type Database, query } from '@bay-booking/service/database/database';

export interface QueuedLogout {
  readonly clientId: string;
  readonly accountId: string;
  /** The id of the ended session. Null if the client does not require it. */
  readonly sid: string | null;
  /** The seconds since the session ended. */
  readonly ageSeconds: number;
}

export interface TakeOptions {
  readonly limit: number;
  readonly maxPerClient: number;
  /** Clients whose tokens stay in the queue, because the maximum number of requests to them is already in progress. */
  readonly except: readonly string[];
}

export type LogoutStore = ReturnType<typeof createLogoutStore>;

export function createLogoutStore({ db }: { db: Database }) {
  return {
    /**
     * Removes from the queue the oldest logout tokens of each client that is not in `except`, and returns them. No
     * other instance gets these tokens, so each token is sent at most once. If this instance crashes, the tokens that
     * it has not yet sent are lost. If the queue has more than `limit` tokens, the order by `position` takes one token
     * of each client before the second token of any client.
     */
    take: ({ limit, maxPerClient, except }: TakeOptions): Promise<readonly QueuedLogout[]> =>
      query<QueuedLogout>(
        db,
        `with numbered as (
           select id, row_number() over (partition by client_id order by id) as position
             from backchannel_logout where client_id <> all ($3)),
         due as (
           select b.id from backchannel_logout b join numbered n on n.id = b.id
            where n.position <= $2 order by n.position, b.id limit $1 for update of b skip locked)
         delete from backchannel_logout b using due d where b.id = d.id
         returning b.client_id as "clientId", b.account_id as "accountId", b.sid,
                   extract(epoch from now() - b.created_at)::float8 as "ageSeconds"`,
        [limit, maxPerClient, except],
      ),
  };
}
