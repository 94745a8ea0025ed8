// Reads clients, and reads and writes the personal access tokens of service accounts (tables `client`,
// `client_secret`).
//
// A personal access token is stored as a client that belongs to a service account (specification, "Bookings API
// access"). The database contains only the SHA-256 of its secrets.
import { type Database, jsonText, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import type { Audit } from '../audit/audit.ts';
import { hashSecret, randomToken } from '../secrets.ts';
import type { StoredClient } from './metadata.ts';

/** A client that may request tokens. */
export interface ActiveClient extends StoredClient {
  /** The ids of the facilities of the client's account. Null if the client has no account. */
  readonly facilityIds: readonly string[] | null;
}

export interface PersonalAccessToken {
  readonly clientId: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly disabledAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly lastUsedFrom: string | null;
  /** The lifetime, in seconds, of the access tokens that the client gets with this personal access token. */
  readonly accessTokenTtl: number;
  /** The number of valid secrets. After a rotation there are two, until the old secret expires. */
  readonly secretCount: number;
}

export interface NewSecret {
  readonly clientId: string;
  /** The secret is shown to the user once. Only its hash is stored. */
  readonly clientSecret: string;
}

export class TooManyTokensError extends Error {
  override readonly name = 'TooManyTokensError';
}

/** The account that makes a change, for the audit trail. */
export interface Actor {
  readonly accountId: string;
  /** The IP address of the browser. */
  readonly address?: string | undefined;
}

export type ClientStore = ReturnType<typeof createClientStore>;

const isActive = 'c.disabled_at is null and (c.expires_at is null or c.expires_at > now())';
const isActiveSecret = 's.expires_at is null or s.expires_at > now()';

/**
 * Finds the client with the id $1, unless the client has expired, or the client or its account is disabled. The same
 * statement reads the facilities of the account, because most tokens contain them.
 */
export const activeClientQuery = `
  select c.id, c.kind, c.pkce, c.metadata, c.scope, c.account_id as "accountId",
         array(select s.secret_sha256 from client_secret s
                where s.client_id = c.id and (${isActiveSecret}) order by s.secret_sha256) as "secretHashes",
         case when a.id is not null
              then array(select m.facility_id from membership m where m.account_id = a.id order by m.facility_id)
          end as "facilityIds"
    from client c left join account a on a.id = c.account_id
   where c.id = $1 and ${isActive} and (c.account_id is null or a.disabled_at is null)`;

/** The columns of a PersonalAccessToken. $1 is the lifetime of access tokens of clients without `access_token_ttl`. */
const tokenColumns = `c.id as "clientId", coalesce(c.name, '') as name, c.created_at as "createdAt",
  c.expires_at as "expiresAt", c.disabled_at as "disabledAt", c.last_used_at as "lastUsedAt",
  c.last_used_from as "lastUsedFrom", coalesce((c.metadata->>'access_token_ttl')::integer, $1) as "accessTokenTtl",
  (select count(*)::int from client_secret s where s.client_id = c.id and (${isActiveSecret})) as "secretCount"`;

/** The minimum time between two updates of the last use of a token, in milliseconds. */
const minUpdateInterval = 60_000;
/** The maximum number of clients in the map `useRecordedAt`. */
const maxRecordedUses = 10_000;

export interface ClientStoreOptions {
  readonly db: Database;
  readonly audit: Audit;
  /** The lifetime of access tokens in seconds, for clients without `access_token_ttl`. */
  readonly accessTokenTtl: number;
}

export function createClientStore({ db, audit, accessTokenTtl }: ClientStoreOptions) {
  /** For each client id, the time at which its last use was written, in milliseconds since 1970. */
  const useRecordedAt = new Map<string, number>();

  return {
    async findActive(id: string): Promise<ActiveClient | undefined> {
      // PostgreSQL cannot compare text that contains a NUL character.
      if (id.includes('\0')) return undefined;
      const [client] = await query<ActiveClient>(db, activeClientQuery, [id]);
      return client;
    },

    /** @throws {TooManyTokensError} if the account already has `maxActive` active tokens */
    async createPersonalAccessToken(
      token: { accountId: string; name: string; expiresAt: Date | null; maxActive: number },
      actor: Actor,
    ): Promise<NewSecret> {
      const { accountId, name, expiresAt, maxActive } = token;
      const clientId = randomToken();
      const clientSecret = randomToken();
      await transaction(db, async (tx) => {
        // The lock makes parallel requests wait. Otherwise, they could together create more tokens than `maxActive`.
        await query(tx, 'select 1 as locked from account where id = $1 for no key update', [accountId]);
        const [row] = await query<{ active: number }>(
          tx,
          `select count(*)::int as active from client c where c.account_id = $1 and ${isActive}`,
          [accountId],
        );
        if (row && row.active >= maxActive) throw new TooManyTokensError(`the account has ${maxActive} active tokens`);
        await query(
          tx,
          `insert into client (id, kind, metadata, account_id, name, expires_at)
           values ($1, 'personal-access-token', $2::jsonb, $3, $4, $5)`,
          [clientId, jsonText({ client_name: name }), accountId, name, expiresAt],
        );
        await insertSecret(tx, clientId, clientSecret);
      });
      audit.record({ kind: 'personal-access-token.created', ...actor, clientId, detail: { name } });
      return { clientId, clientSecret };
    },

    /** Returns at most 500 tokens, the newest first. Revoked and expired tokens are included. */
    listPersonalAccessTokens: (accountId: string): Promise<readonly PersonalAccessToken[]> =>
      query<PersonalAccessToken>(
        db,
        `select ${tokenColumns} from client c where c.account_id = $2 order by c.created_at desc, c.id limit 500`,
        [accessTokenTtl, accountId],
      ),

    /** Returns, in seconds, the longest lifetime that an access token of any client can have. */
    async findLongestAccessTokenTtl(): Promise<number> {
      const [row] = await query<{ seconds: number }>(
        db,
        `select greatest($1::integer, max((metadata->>'access_token_ttl')::integer)) as seconds from client`,
        [accessTokenTtl],
      );
      return row?.seconds ?? accessTokenTtl;
    },

    async findPersonalAccessToken(accountId: string, clientId: string): Promise<PersonalAccessToken | undefined> {
      const [token] = await query<PersonalAccessToken>(
        db,
        `select ${tokenColumns} from client c where c.account_id = $2 and c.id = $3`,
        [accessTokenTtl, accountId, clientId],
      );
      return token;
    },

    /**
     * Creates a new secret for a token. The old secrets work for another `overlapSeconds`, in which their users can
     * replace them. Returns undefined if the account has no such token, or if the token is revoked.
     */
    async rotatePersonalAccessToken(
      accountId: string,
      clientId: string,
      overlapSeconds: number,
      actor: Actor,
    ): Promise<NewSecret | undefined> {
      const clientSecret = randomToken();
      const rotated = await transaction(db, async (tx) => {
        const found = await query(
          tx,
          'select 1 as found from client where id = $1 and account_id = $2 and disabled_at is null for update',
          [clientId, accountId],
        );
        if (found.length === 0) return false;
        // `least` ignores null, which is the expiry of a secret that does not expire.
        await query(
          tx,
          `update client_secret set expires_at = least(expires_at, now() + make_interval(secs => $1))
            where client_id = $2`,
          [overlapSeconds, clientId],
        );
        // With an overlap of 0, the old secrets have just expired.
        await query(tx, 'delete from client_secret where client_id = $1 and expires_at <= now()', [clientId]);
        await insertSecret(tx, clientId, clientSecret);
        return true;
      });
      if (!rotated) return undefined;
      audit.record({ kind: 'personal-access-token.rotated', ...actor, clientId, detail: { overlap: overlapSeconds } });
      return { clientId, clientSecret };
    },

    /** Returns false if the account has no such token, or if the token is already revoked. */
    async revokePersonalAccessToken(accountId: string, clientId: string, actor: Actor): Promise<boolean> {
      const rows = await query(
        db,
        `update client set disabled_at = now()
          where id = $1 and account_id = $2 and disabled_at is null returning 1 as done`,
        [clientId, accountId],
      );
      if (rows.length === 0) return false;
      audit.record({ kind: 'personal-access-token.revoked', ...actor, clientId });
      return true;
    },

    /**
     * Stores the time and the IP address of the last use of a token, but at most once per minute. The portal shows
     * them. The function does not wait for the database. If the database fails, the next use is stored instead.
     */
    recordUse(clientId: string, address: string): void {
      const now = Date.now();
      if (now - (useRecordedAt.get(clientId) ?? 0) < minUpdateInterval) return;
      if (useRecordedAt.size >= maxRecordedUses) useRecordedAt.clear();
      useRecordedAt.set(clientId, now);
      query(db, 'update client set last_used_at = now(), last_used_from = $1 where id = $2', [address, clientId]).catch(
        () => useRecordedAt.delete(clientId),
      );
    },
  };
}

async function insertSecret(tx: Queryable, clientId: string, clientSecret: string): Promise<void> {
  await query(tx, 'insert into client_secret (client_id, secret_sha256) values ($1, $2)', [
    clientId,
    hashSecret(clientSecret),
  ]);
}
