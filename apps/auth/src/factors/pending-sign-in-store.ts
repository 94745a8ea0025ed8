// Stores the sign-ins that wait for the second factor of their account (table `pending_sign_in`).
import { type Database, query, queryOne } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '@bay-booking/service/secret-box';

/** Where the browser goes after the sign-in: exactly one of the fields is not null. */
export interface StoredDestination {
  readonly interactionUid: string | null;
  readonly returnTo: string | null;
}

/** What the user has already proved. */
export interface PendingSignIn extends StoredDestination {
  readonly accountId: string;
  readonly acr: string | null;
  readonly amr: readonly string[];
}

const lifetimeSeconds = 10 * 60;

const columns = `account_id as "accountId", acr, amr, interaction_uid as "interactionUid", return_to as "returnTo"`;
const isOpen = 'id_sha256 = $1 and browser_sha256 = $2 and expires_at > now()';

export type PendingSignIns = ReturnType<typeof createPendingSignIns>;

export function createPendingSignIns({ db }: { db: Database }) {
  return {
    /** Returns the id. Only the browser that has `browserSecret` can use it. */
    async add(
      browserSecret: string,
      { accountId, acr, amr, interactionUid, returnTo }: PendingSignIn,
    ): Promise<string> {
      const id = randomToken();
      await query(
        db,
        `insert into pending_sign_in (id_sha256, browser_sha256, account_id, acr, amr, interaction_uid, return_to,
                                   expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))`,
        [hashSecret(id), hashSecret(browserSecret), accountId, acr, amr, interactionUid, returnTo, lifetimeSeconds],
      );
      return id;
    },

    find: (id: string, browserSecret: string) =>
      queryOne<PendingSignIn>(db, `select ${columns} from pending_sign_in where ${isOpen}`, [
        hashSecret(id),
        hashSecret(browserSecret),
      ]),

    /** Of several calls at the same time, only one gets the sign-in. */
    consume: (id: string, browserSecret: string) =>
      queryOne<PendingSignIn>(db, `delete from pending_sign_in where ${isOpen} returning ${columns}`, [
        hashSecret(id),
        hashSecret(browserSecret),
      ]),
  };
}
