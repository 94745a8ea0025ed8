// Stores personal access tokens. Each is a client that belongs to a service account (specification, "Bookings API
// access").
import {
  type Database,
  jsonText,
  type Queryable,
  query,
  queryOne,
  transaction,
} from '@bay-booking/service/database/database';
import { createFilteredList } from '@bay-booking/service/page-statements';
import { randomToken } from '@bay-booking/service/secret-box';
import type { Audit } from '../audit/audit.ts';
import type { TokenAccess } from './metadata.ts';
import { insertSecret, isActiveClient, isActiveSecret, lifetimeBegan, newClientSecret, rotateSecret } from './store.ts';

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

/** The SQL of the facilities where the personal access token `c` has rights, as the roles `m` of its account. */
const tokenFacilities = `lateral (select m.facility_id, m.role from membership m
  where m.account_id = c.account_id and (c.facility_ids is null or m.facility_id = any (c.facility_ids))) m`;

/** The columns of a PersonalAccessToken. $1 is the lifetime of access tokens of clients without `access_token_ttl`. */
const tokenColumns = `c.id as "clientId", coalesce(c.name, '') as name, c.created_at as "createdAt",
  c.expires_at as "expiresAt", c.disabled_at as "disabledAt", ${isActiveClient} as "isActive",
  c.last_used_at as "lastUsedAt", c.last_used_from as "lastUsedFrom", coalesce((c.metadata->>'access_token_ttl')::integer, $1) as "accessTokenTtl",
  (select count(*)::int from client_secret s where s.client_id = c.id and (${isActiveSecret})) as "secretCount",
  c.access, c.facility_ids as "facilityIds", extract(epoch from c.expires_at - ${lifetimeBegan})::float8 as "lifetimeSeconds"`;

export const maxActiveTokens = 50;

export function createTokenStore({
  db,
  audit,
  accessTokenTtl,
}: {
  readonly db: Database;
  readonly audit: Audit;
  /** The lifetime of access tokens in seconds, for clients without `access_token_ttl`. */
  readonly accessTokenTtl: number;
}) {
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
    /** Creates a token of the actor, which is a service account. */
    async create(
      { name, days, access, facilityIds }: NewToken,
      actor: Actor,
    ): Promise<NewSecret | { error: 'too-many-tokens' }> {
      const { accountId } = actor;
      const clientId = randomToken();
      const clientSecret = newClientSecret();
      const created = await transaction(db, async (tx) => {
        // The lock makes parallel requests wait. Otherwise, they could together create too many tokens.
        await query(tx, 'select 1 as locked from account where id = $1 for no key update', [accountId]);
        const row = await queryOne<{ active: number }>(
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
    list: (accountId: string): Promise<readonly PersonalAccessToken[]> =>
      query<PersonalAccessToken>(
        db,
        `select ${tokenColumns} from client c where c.account_id = $2 order by c.created_at desc, c.id limit 500`,
        [accessTokenTtl, accountId],
      ),

    find: (accountId: string, clientId: string) =>
      queryOne<PersonalAccessToken>(db, `select ${tokenColumns} from client c where c.account_id = $2 and c.id = $3`, [
        accessTokenTtl,
        accountId,
        clientId,
      ]),

    /** The old secrets work for another `overlapSeconds`. */
    async rotate(clientId: string, overlapSeconds: number, actor: Actor): Promise<NewSecret | { error: 'not-found' }> {
      const clientSecret = newClientSecret();
      const rotated = await transaction(db, async (tx) => {
        const found = await queryOne<{ name: string }>(
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
    async revoke(clientId: string, actor: Actor): Promise<boolean> {
      const revoked = await queryOne<{ name: string }>(
        db,
        `update client set disabled_at = now()
          where id = $1 and account_id = $2 and disabled_at is null returning coalesce(name, '') as name`,
        [clientId, actor.accountId],
      );
      if (!revoked) return false;
      await recordChange('revoked', actor, clientId, revoked);
      return true;
    },
  };
}

/** For operators. A token is for a facility where its account has a role, unless the token is limited to others. */
export const listTokens = createFilteredList<object>({
  columns: `c.id as client_id, c.name, c.account_id as "accountId", c.access, c.facility_ids as facilities,
     c.created_at as "createdAt", c.last_used_at as "lastUsedAt", c.expires_at as "expiresAt"`,
  from: `from client c where c.kind = 'personal-access-token' and ${isActiveClient}`,
  orderBy: 'c.id',
  conditions: {
    accountId: 'c.account_id = {accountId}',
    facilityId: `exists (select from ${tokenFacilities} where m.facility_id = {facilityId})`,
  },
});

/** Returns undefined if there is no such personal access token, or if it was revoked already. */
export const revokeToken = (tx: Queryable, clientId: string) =>
  queryOne<{ name: string; accountId: string; facilityIds: readonly string[] }>(
    tx,
    `update client c set disabled_at = now()
      where c.id = $1 and c.kind = 'personal-access-token' and ${isActiveClient}
      returning coalesce(c.name, '') as name, c.account_id as "accountId",
        array(select m.facility_id from ${tokenFacilities} order by 1) as "facilityIds"`,
    [clientId],
  );

/**
 * Returns the clients that are personal access tokens all of whose facilities are disabled. A facility that this
 * transaction disables does not count, because an import file may be the export of another installation.
 */
export async function findDisabledEverywhere(
  on: Queryable,
  clientIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await query<{ id: string }>(
    on,
    `select c.id from client c, ${tokenFacilities} join facility f on f.id = m.facility_id where c.id = any ($1)
      group by c.id having bool_and(coalesce(f.disabled_at < now(), false))`,
    [clientIds],
  );
  return new Set(rows.map(({ id }) => id));
}
