// Who may use this mailed link? The SQL of one_time_link: 256 random bits of which only the SHA-256 is kept, good once, for a while, and as
// long as the account's mail still goes where the link went.
import { type Database, query } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '../secrets.ts';

export type LinkPurpose = 'verify-email' | 'reset-password';

export interface LinkOwner {
  readonly accountId: string;
  /** Where it was mailed: whoever has the link reads that address. */
  readonly email: string;
}

export type OneTimeLinks = ReturnType<typeof createOneTimeLinks>;

/** Mail of an account goes to its address, else to a user name that is one. */
const isGood = `l.token_sha256 = $1 and l.purpose = $2 and l.expires_at > now()
            and lower(l.email) = lower((select coalesce(a.email, a.username) from account a where a.id = l.account_id))`;

export function createOneTimeLinks({ db }: { db: Database }) {
  return {
    /** The token for the link; an earlier link of the purpose ends. `lifetime` in seconds. */
    async issue(link: LinkOwner & { purpose: LinkPurpose; lifetime: number }, on: Database = db): Promise<string> {
      const token = randomToken();
      await query(
        on,
        `with ended as (delete from one_time_link where account_id = $2 and purpose = $3)
         insert into one_time_link (token_sha256, account_id, purpose, email, expires_at)
         values ($1, $2, $3, $4, now() + make_interval(secs => $5))`,
        [hashSecret(token), link.accountId, link.purpose, link.email, link.lifetime],
      );
      return token;
    },

    async look(purpose: LinkPurpose, token: string): Promise<LinkOwner | undefined> {
      const [owner] = await query<LinkOwner>(
        db,
        `select l.account_id as "accountId", l.email from one_time_link l where ${isGood}`,
        [hashSecret(token), purpose],
      );
      return owner;
    },

    /** Uses it up: of several at once, one gets it. */
    async take(purpose: LinkPurpose, token: string): Promise<LinkOwner | undefined> {
      const [owner] = await query<LinkOwner>(
        db,
        `delete from one_time_link l where ${isGood} returning l.account_id as "accountId", l.email`,
        [hashSecret(token), purpose],
      );
      return owner;
    },
  };
}
