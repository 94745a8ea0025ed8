// Reads clients, and reads and writes personal access tokens (tables `client`, `client_secret`).
//
// A personal access token is a client that belongs to a service account (specification, "Bookings API access").
import { isStorable } from '@bay-booking/common/text';
import { type Database, jsonText, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '@bay-booking/service/secret-box';
import type { Audit } from '../audit/audit.ts';
import type { Membership } from '../facilities/roles.ts';
import type { StoredClient, TokenAccess } from './metadata.ts';

/** A client that may request tokens. */
export interface ActiveClient extends StoredClient {
  /** The roles of the client's account. Null if the client has no account. */
  readonly memberships: readonly Membership[] | null;
}

export interface PersonalAccessToken {
  readonly clientId: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly disabledAt: Date | null;
  /** From a rotation to the expiry. Null: the token does not expire. */
  readonly lifetimeSeconds: number | null;
  /** Whether the token is neither revoked nor expired. */
  readonly isActive: boolean;
  readonly lastUsedAt: Date | null;
  readonly lastUsedFrom: string | null;
  /** In seconds. */
  readonly accessTokenTtl: number;
  /** The number of valid secrets. After a rotation there are two, until the old secret expires. */
  readonly secretCount: number;
  readonly access: TokenAccess;
  /** Null: all facilities of the account. */
  readonly facilityIds: readonly string[] | null;
}

export interface NewSecret {
  readonly clientId: string;
  /** The secret is shown to the user once. Only its hash is stored. */
  readonly clientSecret: string;
}

export interface NewToken {
  readonly name: string;
  readonly days: number;
  readonly access: TokenAccess;
  readonly facilityIds: readonly string[];
}

/** The account that makes a change, for the audit trail. */
export interface Actor {
  readonly accountId: string;
  /** The IP address of the browser. */
  readonly address?: string | undefined;
}

/** The SQL condition that the client `c` is neither disabled nor expired. */
export const isActiveClient = 'c.disabled_at is null and (c.expires_at is null or c.expires_at > now())';
/** The SQL of the beginning of the lifetime of the client `c`. */
export const lifetimeBegan = 'coalesce(c.renewed_at, c.created_at)';
/** The SQL of the facilities where the personal access token `c` has rights, as the roles `m` of its account. */
const tokenFacilities = `lateral (select m.facility_id, m.role from membership m
  where m.account_id = c.account_id and (c.facility_ids is null or m.facility_id = any (c.facility_ids))) m`;
const isActiveSecret = 's.expires_at is null or s.expires_at > now()';

/**
 * Finds the client with the id $1 unless the client has expired or the client or its account is disabled. The same
 * statement reads the account's roles, because most tokens depend on them. pg parses one JSON value faster than ten
 * columns.
 */
const activeClientQuery = `
  select json_build_object('id', c.id, 'kind', c.kind, 'pkce', c.pkce, 'metadata', c.metadata, 'scope', c.scope,
           'accountId', c.account_id, 'access', c.access, 'facilityIds', c.facility_ids,
           'secretHashes', array(select s.secret_sha256 from client_secret s
              where s.client_id = c.id and (${isActiveSecret}) order by s.secret_sha256),
           'memberships', case when a.id is not null then (
              select coalesce(json_agg(json_build_object('facilityId', m.facility_id, 'role', m.role)
                         order by m.facility_id), '[]')
                from membership m join facility f on f.id = m.facility_id
               where m.account_id = a.id and f.disabled_at is null) end) as client
    from client c left join account a on a.id = c.account_id
   where c.id = $1 and ${isActiveClient} and (c.account_id is null or a.disabled_at is null)`;

/** The columns of a PersonalAccessToken. $1 is the lifetime of access tokens of clients without `access_token_ttl`. */
const tokenColumns = `c.id as "clientId", coalesce(c.name, '') as name, c.created_at as "createdAt",
  c.expires_at as "expiresAt", c.disabled_at as "disabledAt", ${isActiveClient} as "isActive",
  c.last_used_at as "lastUsedAt", c.last_used_from as "lastUsedFrom", coalesce((c.metadata->>'access_token_ttl')::integer, $1) as "accessTokenTtl",
  (select count(*)::int from client_secret s where s.client_id = c.id and (${isActiveSecret})) as "secretCount",
  c.access, c.facility_ids as "facilityIds", extract(epoch from c.expires_at - ${lifetimeBegan})::float8 as "lifetimeSeconds"`;

export const maxActiveTokens = 50;
const minUpdateIntervalMs = 60_000;
const maxRecordedUses = 10_000;

export interface ClientStoreOptions {
  readonly db: Database;
  readonly audit: Audit;
  /** The lifetime of access tokens in seconds, for clients without `access_token_ttl`. */
  readonly accessTokenTtl: number;
}

export type ClientStore = ReturnType<typeof createClientStore>;

export function createClientStore({ db, audit, accessTokenTtl }: ClientStoreOptions) {
  /** The time at which the last use of each client was written, in milliseconds since 1970. */
  const useRecordedAt = new Map<string, number>();

  /** Records a change in the history of each facility of the token. */
  const recordChange = async (
    change: 'created' | 'rotated' | 'revoked',
    actor: Actor,
    clientId: string,
    detail: Readonly<Record<string, string | number | undefined>>,
  ): Promise<void> => {
    const rows = await query<{ facilityId: string }>(
      db,
      `select m.facility_id as "facilityId" from client c, ${tokenFacilities} where c.id = $1 order by m.facility_id`,
      [clientId],
    );
    for (const facility of rows.length > 0 ? rows : [{}]) {
      audit.record({ kind: `personal-access-token.${change}`, ...actor, clientId, ...facility, detail });
    }
  };

  return {
    async findActive(id: string): Promise<ActiveClient | undefined> {
      if (!isStorable(id)) return undefined;
      const [found] = await query<{ client: ActiveClient }>(db, activeClientQuery, [id]);
      return found?.client;
    },

    /** Creates a token of the actor, which is a service account. */
    async createPersonalAccessToken(
      { name, days, access, facilityIds }: NewToken,
      actor: Actor,
    ): Promise<NewSecret | { error: 'too-many-tokens' }> {
      const { accountId } = actor;
      const clientId = randomToken();
      const clientSecret = newClientSecret();
      const created = await transaction(db, async (tx) => {
        // The lock makes parallel requests wait. Otherwise, they could together create too many tokens.
        await query(tx, 'select 1 as locked from account where id = $1 for no key update', [accountId]);
        const [row] = await query<{ active: number }>(
          tx,
          `select count(*)::int as active from client c where c.account_id = $1 and ${isActiveClient}`,
          [accountId],
        );
        if (row && row.active >= maxActiveTokens) return false;
        await query(
          tx,
          `insert into client (id, kind, metadata, account_id, name, expires_at, access, facility_ids)
           values ($1, 'personal-access-token', $2::jsonb, $3, $4, now() + make_interval(secs => $5), $6, $7)`,
          [clientId, jsonText({ client_name: name }), accountId, name, days * 86_400, access, facilityIds],
        );
        await insertSecret(tx, clientId, clientSecret);
        return true;
      });
      if (!created) return { error: 'too-many-tokens' };
      await recordChange('created', actor, clientId, { name, days, access });
      return { clientId, clientSecret };
    },

    /** Returns at most 500 tokens, the newest first. Revoked and expired tokens are included. */
    listPersonalAccessTokens: (accountId: string): Promise<readonly PersonalAccessToken[]> =>
      query<PersonalAccessToken>(
        db,
        `select ${tokenColumns} from client c where c.account_id = $2 order by c.created_at desc, c.id limit 500`,
        [accessTokenTtl, accountId],
      ),

    async findPersonalAccessToken(accountId: string, clientId: string): Promise<PersonalAccessToken | undefined> {
      const [token] = await query<PersonalAccessToken>(
        db,
        `select ${tokenColumns} from client c where c.account_id = $2 and c.id = $3`,
        [accessTokenTtl, accountId, clientId],
      );
      return token;
    },

    /** The old secrets work for another `overlapSeconds`. */
    async rotatePersonalAccessToken(
      clientId: string,
      overlapSeconds: number,
      actor: Actor,
    ): Promise<NewSecret | { error: 'not-found' }> {
      const clientSecret = newClientSecret();
      const rotated = await transaction(db, async (tx) => {
        const [found] = await query<{ name: string }>(
          tx,
          `select coalesce(name, '') as name from client
            where id = $1 and account_id = $2 and disabled_at is null for update`,
          [clientId, actor.accountId],
        );
        if (!found) return undefined;
        await rotateSecret(tx, clientId, clientSecret, overlapSeconds);
        return found;
      });
      if (!rotated) return { error: 'not-found' };
      await recordChange('rotated', actor, clientId, { name: rotated.name, overlap: overlapSeconds });
      return { clientId, clientSecret };
    },

    /** Returns false if the account has no such token, or if the token is already revoked. */
    async revokePersonalAccessToken(clientId: string, actor: Actor): Promise<boolean> {
      const [revoked] = await query<{ name: string }>(
        db,
        `update client set disabled_at = now()
          where id = $1 and account_id = $2 and disabled_at is null returning coalesce(name, '') as name`,
        [clientId, actor.accountId],
      );
      if (!revoked) return false;
      await recordChange('revoked', actor, clientId, revoked);
      return true;
    },

    /** Stores the last use of a token at most once per minute, without waiting. The portal shows it. */
    recordUse(clientId: string, address: string): void {
      const now = Date.now();
      if (now - (useRecordedAt.get(clientId) ?? 0) < minUpdateIntervalMs) return;
      if (useRecordedAt.size >= maxRecordedUses) useRecordedAt.clear();
      useRecordedAt.set(clientId, now);
      query(db, 'update client set last_used_at = now(), last_used_from = $1 where id = $2', [address, clientId]).catch(
        () => useRecordedAt.delete(clientId),
      );
    },
  };
}

/** Programs that search source code for leaked secrets recognise the prefix. */
export const newClientSecret = (): string => `bbs_${randomToken()}`;

/** Returns undefined if there is no such personal access token, or if it was revoked already. */
export async function revokeToken(tx: Queryable, clientId: string) {
  const [revoked] = await query<{ name: string; accountId: string; facilityIds: readonly string[] }>(
    tx,
    `update client c set disabled_at = now()
      where c.id = $1 and c.kind = 'personal-access-token' and ${isActiveClient}
      returning coalesce(c.name, '') as name, c.account_id as "accountId",
        array(select m.facility_id from ${tokenFacilities} order by 1) as "facilityIds"`,
    [clientId],
  );
  return revoked;
}

/** Whether the client is a personal access token all of whose facilities are disabled. */
export async function isDisabledEverywhere(on: Queryable, clientId: string): Promise<boolean> {
  const [row] = await query<{ isDisabled: boolean | null }>(
    on,
    `select bool_and(f.disabled_at is not null) as "isDisabled"
       from client c, ${tokenFacilities} join facility f on f.id = m.facility_id where c.id = $1`,
    [clientId],
  );
  return row?.isDisabled === true;
}

/** Each further rotation would otherwise add a secret, and a client compares all of them. */
const maxOldSecrets = 4;

/**
 * The old secrets work for another `overlapSeconds`, the four newest of them. A lifetime begins anew, with as many days
 * as before.
 */
export async function rotateSecret(
  tx: Queryable,
  clientId: string,
  clientSecret: string,
  overlapSeconds: number,
): Promise<void> {
  // In seconds, because a day of an interval has 23 or 25 hours when the clocks change.
  await query(
    tx,
    `update client c set renewed_at = now(), expiry_reminder = null,
            expires_at = now() + make_interval(secs => extract(epoch from c.expires_at - ${lifetimeBegan})::float8)
      where c.id = $1 and c.expires_at > ${lifetimeBegan}`,
    [clientId],
  );
  // `least` ignores null, which is the expiry of a secret that does not expire.
  await query(
    tx,
    `update client_secret set expires_at = least(expires_at, now() + make_interval(secs => $1))
      where client_id = $2`,
    [overlapSeconds, clientId],
  );
  // If the overlap is 0, the old secrets have just expired.
  await query(
    tx,
    `delete from client_secret where client_id = $1 and (expires_at <= now() or secret_sha256 not in (
       select secret_sha256 from client_secret where client_id = $1 order by created_at desc limit ${maxOldSecrets}))`,
    [clientId],
  );
  await insertSecret(tx, clientId, clientSecret);
}

async function insertSecret(tx: Queryable, clientId: string, clientSecret: string): Promise<void> {
  await query(tx, 'insert into client_secret (client_id, secret_sha256) values ($1, $2)', [
    clientId,
    hashSecret(clientSecret),
  ]);
}
