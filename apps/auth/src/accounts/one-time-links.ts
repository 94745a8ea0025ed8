// Who may use this mailed link? The SQL of one_time_link: 256 random bits of which only the SHA-256 is kept, good once and for a while.
import { type Database, query } from '@bay-booking/service/database';
import { hashSecret, randomToken } from '../secrets.ts';

export type LinkPurpose = 'verify-email' | 'reset-password';

export interface LinkOwner {
  readonly accountId: string;
  /** Where it was mailed: whoever has the link reads that address. */
  readonly email: string;
}

export type OneTimeLinks = ReturnType<typeof createOneTimeLinks>;

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
        `select account_id as "accountId", email from one_time_link
          where token_sha256 = $1 and purpose = $2 and expires_at > now()`,
        [hashSecret(token), purpose],
      );
      return owner;
    },

    /** Uses it up: of several at once, one gets it. */
    async take(purpose: LinkPurpose, token: string): Promise<LinkOwner | undefined> {
      const [owner] = await query<LinkOwner>(
        db,
        `delete from one_time_link where token_sha256 = $1 and purpose = $2 and expires_at > now()
         returning account_id as "accountId", email`,
        [hashSecret(token), purpose],
      );
      return owner;
    },
  };
}
