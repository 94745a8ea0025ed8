// Reads and writes clients and their secrets (tables `client`, `client_secret`).
import { isStorable } from '@bay-booking/common/text';
import { type Database, jsonText, type Queryable, query, queryOne } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '@bay-booking/service/secret-box';
import { isoTime } from '../audit/store.ts';
import type { Membership } from '../facilities/roles.ts';
import { type ClientState, type StoredClient, usesSecret } from './metadata.ts';

/** A client that may request tokens. */
export interface ActiveClient extends StoredClient {
  /** The roles of the client's account. Null if the client has no account. */
  readonly memberships: readonly Membership[] | null;
}

/** The SQL condition that the client `c` is neither disabled nor expired. */
export const isActiveClient = 'c.disabled_at is null and (c.expires_at is null or c.expires_at > now())';
/** The SQL of the time when the lifetime of the client `c` began. */
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
 * as before, and ends in a year that records may have.
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
            expires_at = least('9999-12-31T23:59:59Z',
              now() + make_interval(secs => extract(epoch from c.expires_at - ${lifetimeBegan})::float8))
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

/** The select list of `ClientState`. The table `client` needs the alias `c`. */
export const clientColumns = `c.id, c.kind, c.pkce, c.metadata, c.scope, c.account_id as "accountId", c.name, c.access,
  c.facility_ids as "facilityIds", c.disabled_at is not null as disabled, ${isoTime('c.expires_at')} as "expiresAt",
  (select coalesce(jsonb_agg(jsonb_build_object('sha256', s.secret_sha256, 'expiresAt', ${isoTime('s.expires_at')})
                             order by s.created_at, s.secret_sha256), '[]')
     from client_secret s where s.client_id = c.id) as secrets`;

/** Returns the clients by id. */
export async function selectClients(on: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, ClientState>> {
  const clients = await query<ClientState>(on, `select ${clientColumns} from client c where c.id = any ($1)`, [ids]);
  return new Map(clients.map((client) => [client.id, client]));
}

/** The text of an entry has milliseconds only. */
const sameExpiry = "date_trunc('milliseconds', c.expires_at) is not distinct from excluded.expires_at";

/** Also replaces the secrets of the clients. */
export async function writeClients(tx: Queryable, clients: readonly ClientState[]): Promise<void> {
  // Never a secret, only its hash, because PostgreSQL may log the values.
  await query(
    tx,
    `insert into client as c (id, kind, pkce, metadata, scope, account_id, name, access, facility_ids, disabled_at,
                              expires_at)
     select n.id, n.kind, n.pkce, n.metadata, n.scope, n."accountId", n.name, n.access, n."facilityIds",
            case when n.disabled then now() end, n."expiresAt"
       from jsonb_to_recordset($1::jsonb) as n (id text, kind text, pkce text, metadata jsonb, scope text,
              "accountId" text, name text, access text, "facilityIds" text[], disabled boolean, "expiresAt" timestamptz)
     on conflict (id) do update set kind = excluded.kind, pkce = excluded.pkce, metadata = excluded.metadata,
       scope = excluded.scope, account_id = excluded.account_id, name = excluded.name, access = excluded.access,
       facility_ids = excluded.facility_ids,
       disabled_at = case when excluded.disabled_at is not null then coalesce(c.disabled_at, now()) end,
       expires_at = case when ${sameExpiry} then c.expires_at else excluded.expires_at end,
       renewed_at = case when ${sameExpiry} then c.renewed_at else now() end,
       expiry_reminder = case when ${sameExpiry} then c.expiry_reminder end`,
    [jsonText(clients)],
  );
  const secrets = clients.flatMap(({ id, metadata, secrets: stored }) =>
    (usesSecret(metadata) ? stored : []).map((secret) => ({ client_id: id, ...secret })),
  );
  const record = `jsonb_to_recordset($1::jsonb) as n (client_id text, sha256 text, "expiresAt" timestamptz)`;
  await query(
    tx,
    `delete from client_secret s where s.client_id = any ($2) and not exists (
       select from ${record} where n.client_id = s.client_id and n.sha256 = s.secret_sha256)`,
    [jsonText(secrets), clients.map(({ id }) => id)],
  );
  await query(
    tx,
    `insert into client_secret as s (client_id, secret_sha256, expires_at)
     select client_id, sha256, "expiresAt" from ${record}
     on conflict (client_id, secret_sha256) do update set expires_at = excluded.expires_at
       where date_trunc('milliseconds', s.expires_at) is distinct from excluded.expires_at`,
    [jsonText(secrets)],
  );
}
