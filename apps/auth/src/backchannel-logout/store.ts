// Takes entries from the queue of logouts. A logout token is created only when it is sent, and sent at most once.
import { type Database, query } from '@bay-booking/service/database/database';

export interface QueuedLogout {
  readonly clientId: string;
  readonly accountId: string;
  readonly sid: string | null;
  readonly ageSeconds: number;
}

export interface TakeOptions {
  readonly limit: number;
  readonly maxPerClient: number;
  /** Clients that have enough requests in progress. */
  readonly except: readonly string[];
}

/** The order by `position` takes one token of each client before the second token of any client. */
export const takeQueuedLogouts = (
  db: Database,
  { limit, maxPerClient, except }: TakeOptions,
): Promise<readonly QueuedLogout[]> =>
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
  );
