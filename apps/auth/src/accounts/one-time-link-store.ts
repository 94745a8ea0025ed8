// Creates, finds and deletes one-time links that are mailed to users (table `one_time_link`).
//
// A link's token is an HMAC of a random seed. The server can therefore compute the token from the stored seed and mail
// the link again. A reader of the database does not have the key and cannot.
import { createHmac } from 'node:crypto';
import { type Database, type Queryable, query, queryOne, transaction } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '@bay-booking/service/secret-box';
import { canonicalName } from '../input/username.ts';

export type LinkPurpose = 'verify-email' | 'reset-password';

export interface LinkOwner {
  readonly accountId: string;
  /** The e-mail address that the link was mailed to. Whoever opens the link can read its mailbox. */
  readonly email: string;
}

interface NewLink extends LinkOwner {
  readonly purpose: LinkPurpose;
  readonly lifetimeSeconds: number;
}

/**
 * A link works while the account still has the e-mail address that the link was mailed to: its `email`, or else its
 * user name.
 */
const isValid = `l.token_sha256 = $1 and l.purpose = $2 and l.expires_at > now()
  and l.email_key = (select coalesce(a.email_key, a.username_key) from account a where a.id = l.account_id)`;

export type OneTimeLinks = ReturnType<typeof createOneTimeLinks>;

/** The first key makes new links. Another one may have made a link that is mailed again. */
export function createOneTimeLinks({ db, keys }: { db: Database; keys: readonly [Buffer, ...Buffer[]] }) {
  // The prefix makes these HMACs different from other HMACs with the same key.
  const tokenOf = (seed: string, key = keys[0]): string =>
    createHmac('sha256', key).update(`one-time link\0${seed}`).digest('base64url');

  return {
    /** Returns the token of the new link. Deletes earlier links for the same purpose. */
    async issue(link: NewLink): Promise<string> {
      const seed = randomToken();
      const token = tokenOf(seed);
      await query(
        db,
        `with ended as (delete from one_time_link where account_id = $2 and purpose = $3)
         insert into one_time_link (token_sha256, account_id, purpose, email, email_key, expires_at, seed)
         values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6), $7)`,
        [
          hashSecret(token),
          link.accountId,
          link.purpose,
          link.email,
          canonicalName(link.email),
          link.lifetimeSeconds,
          seed,
        ],
      );
      return token;
    },

    /**
     * Extends the lifetime of the link that was sent to this e-mail address, or else creates one. Returns its token.
     */
    async repeat(link: NewLink): Promise<string> {
      const existing = await queryOne<{ seed: string; tokenHash: string }>(
        db,
        `update one_time_link set expires_at = now() + make_interval(secs => $4)
          where account_id = $1 and purpose = $2 and email_key = $3 and expires_at > now()
         returning seed, token_sha256 as "tokenHash"`,
        [link.accountId, link.purpose, canonicalName(link.email), link.lifetimeSeconds],
      );
      const tokens = existing ? keys.map((key) => tokenOf(existing.seed, key)) : [];
      return tokens.find((token) => hashSecret(token) === existing?.tokenHash) ?? this.issue(link);
    },

    find: (purpose: LinkPurpose, token: string) =>
      queryOne<LinkOwner>(db, `select l.account_id as "accountId", l.email from one_time_link l where ${isValid}`, [
        hashSecret(token),
        purpose,
      ]),

    /**
     * Of several calls at the same time, only one gets the owner. `work` is part of the transaction that deletes the
     * link, so a link that did not work because of a failure can be used again.
     */
    consume: (
      purpose: LinkPurpose,
      token: string,
      work: (tx: Queryable, owner: LinkOwner) => Promise<boolean>,
    ): Promise<LinkOwner | undefined> =>
      transaction(db, async (tx) => {
        const owner = await queryOne<LinkOwner>(
          tx,
          `delete from one_time_link l where ${isValid} returning l.account_id as "accountId", l.email`,
          [hashSecret(token), purpose],
        );
        return owner && (await work(tx, owner)) ? owner : undefined;
      }),
  };
}
