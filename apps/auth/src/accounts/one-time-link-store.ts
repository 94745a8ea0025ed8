// Reads and writes the links that are mailed to users (table `one_time_link`).
//
// A link works once, for a limited time, and only while the account still has the e-mail address to which the link
// was mailed. The database contains only the SHA-256 of its token and a seed. The token is an HMAC of the seed with a
// key that is not in the database, so that a link can be mailed again, but not read from the database.

import { createHmac } from 'node:crypto';
import { type Database, query } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '../secrets.ts';

export type LinkPurpose = 'verify-email' | 'reset-password';

export interface LinkOwner {
  readonly accountId: string;
  /** The address to which the link was mailed. Whoever uses the link has proved that they can read its mail. */
  readonly email: string;
}

export type OneTimeLinks = ReturnType<typeof createOneTimeLinks>;

/** E-mails go to the account's e-mail address or, if it has none, to its user name. */
const isValid = `l.token_sha256 = $1 and l.purpose = $2 and l.expires_at > now()
  and lower(l.email) = lower((select coalesce(a.email, a.username) from account a where a.id = l.account_id))`;

export function createOneTimeLinks({ db, key }: { db: Database; key: Buffer }) {
  const tokenOf = (seed: string): string =>
    createHmac('sha256', key).update(`one-time link\0${seed}`).digest('base64url');

  return {
    /** Returns the token for the link, and ends an earlier link for the same purpose. `lifetime` is in seconds. */
    async issue(link: LinkOwner & { purpose: LinkPurpose; lifetime: number }): Promise<string> {
      const seed = randomToken();
      const token = tokenOf(seed);
      await query(
        db,
        `with ended as (delete from one_time_link where account_id = $2 and purpose = $3)
         insert into one_time_link (token_sha256, account_id, purpose, email, expires_at, seed)
         values ($1, $2, $3, $4, now() + make_interval(secs => $5), $6)`,
        [hashSecret(token), link.accountId, link.purpose, link.email, link.lifetime, seed],
      );
      return token;
    },

    /** Extends the link that still works and returns its token again. Without one, issues a new link. */
    async repeat(link: LinkOwner & { purpose: LinkPurpose; lifetime: number }): Promise<string> {
      const [live] = await query<{ seed: string }>(
        db,
        `update one_time_link set expires_at = now() + make_interval(secs => $4)
          where account_id = $1 and purpose = $2 and lower(email) = lower($3) and expires_at > now()
            and seed is not null
         returning seed`,
        [link.accountId, link.purpose, link.email, link.lifetime],
      );
      return live ? tokenOf(live.seed) : this.issue(link);
    },

    async find(purpose: LinkPurpose, token: string): Promise<LinkOwner | undefined> {
      const [owner] = await query<LinkOwner>(
        db,
        `select l.account_id as "accountId", l.email from one_time_link l where ${isValid}`,
        [hashSecret(token), purpose],
      );
      return owner;
    },

    /** Returns the owner and ends the link. Only one of several parallel calls gets the owner. */
    async consume(purpose: LinkPurpose, token: string): Promise<LinkOwner | undefined> {
      const [owner] = await query<LinkOwner>(
        db,
        `delete from one_time_link l where ${isValid} returning l.account_id as "accountId", l.email`,
        [hashSecret(token), purpose],
      );
      return owner;
    },
  };
}
