// Creates, finds and deletes the one-time links that are mailed to users (table `one_time_link`).
//
// A link works once, for a limited time, and only while the account has the e-mail address to which the link was
// mailed.
//
// A link contains a token, which is an HMAC of a random seed. The database contains the seed and the SHA-256 of the
// token, but not the key of the HMAC. The server can therefore compute the token and mail a link again, and a reader of
// the database cannot find out the token.
import { createHmac } from 'node:crypto';
import { type Database, query } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '../secrets.ts';

export type LinkPurpose = 'verify-email' | 'reset-password';

export interface LinkOwner {
  readonly accountId: string;
  /** The address to which the link was mailed. A user who opens the link has proved to have access to this mailbox. */
  readonly email: string;
}

interface NewLink extends LinkOwner {
  readonly purpose: LinkPurpose;
  readonly lifetimeSeconds: number;
}

export type OneTimeLinks = ReturnType<typeof createOneTimeLinks>;

/**
 * The SQL condition that the link `l` with the token hash $1 and the purpose $2 still works: it has not expired, and
 * the account has the address to which the link was mailed. E-mails to an account without an e-mail address are sent to
 * its user name.
 */
const isValid = `l.token_sha256 = $1 and l.purpose = $2 and l.expires_at > now()
  and lower(l.email) = lower((select coalesce(a.email, a.username) from account a where a.id = l.account_id))`;

export function createOneTimeLinks({ db, key }: { db: Database; key: Buffer }) {
  // The prefix makes these HMACs different from other HMACs with the same key.
  const tokenOf = (seed: string): string =>
    createHmac('sha256', key).update(`one-time link\0${seed}`).digest('base64url');

  return {
    /** Creates a link and returns its token. Deletes earlier links for the same purpose. */
    async issue(link: NewLink): Promise<string> {
      const seed = randomToken();
      const token = tokenOf(seed);
      await query(
        db,
        `with ended as (delete from one_time_link where account_id = $2 and purpose = $3)
         insert into one_time_link (token_sha256, account_id, purpose, email, expires_at, seed)
         values ($1, $2, $3, $4, now() + make_interval(secs => $5), $6)`,
        [hashSecret(token), link.accountId, link.purpose, link.email, link.lifetimeSeconds, seed],
      );
      return token;
    },

    /**
     * Extends the lifetime of the link that was sent to this address, and returns its token. Creates a new link if no
     * link works. Early releases stored no `seed`, so the token of their links cannot be made again. Such a link is
     * therefore also replaced by a new one.
     */
    async repeat(link: NewLink): Promise<string> {
      const [existing] = await query<{ seed: string }>(
        db,
        `update one_time_link set expires_at = now() + make_interval(secs => $4)
          where account_id = $1 and purpose = $2 and lower(email) = lower($3) and expires_at > now()
            and seed is not null
         returning seed`,
        [link.accountId, link.purpose, link.email, link.lifetimeSeconds],
      );
      return existing ? tokenOf(existing.seed) : this.issue(link);
    },

    async find(purpose: LinkPurpose, token: string): Promise<LinkOwner | undefined> {
      const [owner] = await query<LinkOwner>(
        db,
        `select l.account_id as "accountId", l.email from one_time_link l where ${isValid}`,
        [hashSecret(token), purpose],
      );
      return owner;
    },

    /**
     * Deletes the link and returns its owner. If several calls run at the same time, only one of them gets the owner.
     */
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
