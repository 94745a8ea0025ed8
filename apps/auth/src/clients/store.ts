// Reads clients, and replaces their secrets (tables `client`, `client_secret`).
import { isStorable } from '@bay-booking/common/text';
import { type Database, type Queryable, query, queryOne } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '@bay-booking/service/secret-box';
import type { Membership } from '../facilities/roles.ts';
import type { StoredClient } from './metadata.ts';

/** A client that may request tokens. */
export interface ActiveClient extends StoredClient {
  /** The roles of the client's account. Null if the client has no account. */
  readonly memberships: readonly Membership[] | null;
}

/** The SQL condition that the client `c` is neither disabled nor expired. */
export const isActiveClient = 'c.disabled_at is null and (c.expires_at is null or c.expires_at > now())';
/** The SQL of the beginning of the lifetime of the client `c`. */
export const lifetimeBegan = 'coalesce(c.renewed_at, c.created_at)';
/** The SQL condition that the secret `s` has not expired. */
export const isActiveSecret = 's.expires_at is null or s.expires_at > now()';

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

const minUpdateIntervalMs = 60_000;
const maxRecordedUses = 10_000;

export type ClientStore = ReturnType<typeof createClientStore>;

export function createClientStore({ db }: { readonly db: Database }) {
  /** The time at which the last use of each client was written, in milliseconds since 1970. */
  const useRecordedAt = new Map<string, number>();

  return {
    async findActive(id: string): Promise<ActiveClient | undefined> {
      if (!isStorable(id)) return undefined;
      const found = await queryOne<{ client: ActiveClient }>(db, activeClientQuery, [id]);
      return found?.client;
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

export async function insertSecret(tx: Queryable, clientId: string, clientSecret: string): Promise<void> {
  await query(tx, 'insert into client_secret (client_id, secret_sha256) values ($1, $2)', [
    clientId,
    hashSecret(clientSecret),
  ]);
}
