// Stores the browser of a new session (table `browser_session`). Only start-session.ts may import this module.
import { type Queryable, query } from '@bay-booking/service/database/database';

export interface NewSessionRow {
  readonly uid: string;
  readonly accountId: string;
  readonly userAgent: string | undefined;
  readonly address: string | undefined;
}

const maxUserAgentLength = 400;

/** If the same browser signs in again, the session keeps its `uid`, and its row is replaced. */
export async function addSession(db: Queryable, { uid, accountId, userAgent, address }: NewSessionRow): Promise<void> {
  await query(
    db,
    `insert into browser_session (uid, account_id, user_agent, address) values ($1, $2, $3, $4)
     on conflict (uid) do update set account_id = excluded.account_id, user_agent = excluded.user_agent,
       address = excluded.address, signed_in_at = now(), seen_at = now()`,
    [uid, accountId, userAgent?.slice(0, maxUserAgentLength) ?? null, address ?? null],
  );
}
