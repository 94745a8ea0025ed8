// Which clients may ask for tokens? The SQL of client and client_secret: what the provider looks up on every request, and the personal
// access tokens of service accounts (specification, "Bookings API access"), of which only a SHA-256 of the secret is kept.
import { type Database, jsonText, query as run } from '@bay-booking/service/database/database';
import type { Audit } from '../audit/audit.ts';
import { hashSecret, randomToken } from '../secrets.ts';
import type { StoredClient } from './metadata.ts';

export interface PersonalAccessToken {
  readonly clientId: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly disabledAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly lastUsedFrom: string | null;
  /** Secrets that are good now: two while a rotation overlaps. */
  readonly secrets: number;
}

/** A client as the provider looks it up, with what its account may put into a token, so that one question is enough. */
export interface ActiveClient extends StoredClient {
  readonly facilityIds: readonly string[] | null;
}

export interface NewSecret {
  readonly clientId: string;
  /** Told once, kept nowhere. */
  readonly clientSecret: string;
}

/** The account has as many live personal access tokens as it may have. */
export class TooManyTokensError extends Error {
  override readonly name = 'TooManyTokensError';
}

/** Who makes a change, for the audit trail. */
export interface Actor {
  readonly accountId: string;
  readonly address?: string | undefined;
}

export type ClientStore = ReturnType<typeof createClientStore>;

const patColumns = `c.id as "clientId", coalesce(c.name, '') as name, c.created_at as "createdAt", c.expires_at as "expiresAt",
  c.disabled_at as "disabledAt", c.last_used_at as "lastUsedAt", c.last_used_from as "lastUsedFrom",
  (select count(*)::int from client_secret s where s.client_id = c.id and (s.expires_at is null or s.expires_at > now())) as secrets`;

/** A client that is disabled or expired, or whose account is, is nobody. $1 is its id. */
const activeClientQuery = `select c.id, c.kind, c.pkce, c.metadata, c.scope, c.account_id as "accountId",
       array(select s.secret_sha256 from client_secret s
              where s.client_id = c.id and (s.expires_at is null or s.expires_at > now())
              order by s.secret_sha256) as "secretHashes",
       case when a.id is not null
            then array(select m.facility_id from membership m where m.account_id = a.id order by m.facility_id)
        end as "facilityIds"
  from client c left join account a on a.id = c.account_id
 where c.id = $1 and c.disabled_at is null and (c.expires_at is null or c.expires_at > now())
   and (c.account_id is null or a.disabled_at is null)`;

export function createClientStore({ db, audit }: { db: Database; audit: Audit }) {
  const useNoted = new Map<string, number>();

  const query = async <T>(sql: string, bindings: readonly unknown[]): Promise<readonly T[]> => {
    const { rows } = await db.raw<{ rows: T[] }>(sql, bindings as never);
    return rows;
  };

  return {
    async findActive(id: string): Promise<ActiveClient | undefined> {
      // PostgreSQL's text holds no NUL, and so no client's id does.
      if (id.includes('\0')) return undefined;
      const [client] = await run<ActiveClient>(db, activeClientQuery, [id]);
      return client;
    },

    /** @throws {TooManyTokensError} when `atMost` are live; the account's row is locked, so that many at once make no more */
    async createPersonalAccessToken(
      token: { accountId: string; name: string; expiresAt: Date | null; atMost?: number },
      actor: Actor,
    ): Promise<NewSecret> {
      const clientId = randomToken();
      const clientSecret = randomToken();
      await db.transaction(async (tx) => {
        if (token.atMost !== undefined) {
          await tx.raw('select 1 from account where id = ? for no key update', [token.accountId]);
          const { rows } = await tx.raw<{ rows: [{ live: number }] }>(
            `select count(*)::int as live from client
              where account_id = ? and disabled_at is null and (expires_at is null or expires_at > now())`,
            [token.accountId],
          );
          if (rows[0].live >= token.atMost) throw new TooManyTokensError(`${token.atMost} tokens are live`);
        }
        await tx.raw(
          `insert into client (id, kind, metadata, account_id, name, expires_at)
           values (?, 'personal-access-token', ?::jsonb, ?, ?, ?)`,
          [clientId, jsonText({ client_name: token.name }), token.accountId, token.name, token.expiresAt],
        );
        await tx.raw('insert into client_secret (client_id, secret_sha256) values (?, ?)', [
          clientId,
          hashSecret(clientSecret),
        ]);
      });
      audit.record({ kind: 'personal-access-token.created', ...actor, clientId, detail: { name: token.name } });
      return { clientId, clientSecret };
    },

    async listPersonalAccessTokens(accountId: string): Promise<readonly PersonalAccessToken[]> {
      return query<PersonalAccessToken>(
        `select ${patColumns} from client c where c.account_id = ? order by c.created_at desc, c.id limit 500`,
        [accountId],
      );
    },

    async findPersonalAccessToken(accountId: string, clientId: string): Promise<PersonalAccessToken | undefined> {
      const [token] = await query<PersonalAccessToken>(
        `select ${patColumns} from client c where c.account_id = ? and c.id = ?`,
        [accountId, clientId],
      );
      return token;
    },

    /** A second secret beside the old ones, which end after `overlap` seconds. Undefined when the account has no such token. */
    async rotatePersonalAccessToken(
      accountId: string,
      clientId: string,
      overlap: number,
      actor: Actor,
    ): Promise<NewSecret | undefined> {
      const clientSecret = randomToken();
      const found = await db.transaction(async (tx) => {
        const { rows } = await tx.raw<{ rows: unknown[] }>(
          'select 1 from client where id = ? and account_id = ? and disabled_at is null for update',
          [clientId, accountId],
        );
        if (rows.length === 0) return false;
        await tx.raw(
          `update client_secret set expires_at = least(expires_at, now() + make_interval(secs => ?)) where client_id = ?`,
          [overlap, clientId],
        );
        await tx.raw('delete from client_secret where client_id = ? and expires_at <= now()', [clientId]);
        await tx.raw('insert into client_secret (client_id, secret_sha256) values (?, ?)', [
          clientId,
          hashSecret(clientSecret),
        ]);
        return true;
      });
      if (!found) return undefined;
      audit.record({ kind: 'personal-access-token.rotated', ...actor, clientId, detail: { overlap } });
      return { clientId, clientSecret };
    },

    /** Whether there was one to revoke; the next token request with it is refused. */
    async revokePersonalAccessToken(accountId: string, clientId: string, actor: Actor): Promise<boolean> {
      const rows = await query(
        'update client set disabled_at = now() where id = ? and account_id = ? and disabled_at is null returning 1 as done',
        [clientId, accountId],
      );
      if (rows.length === 0) return false;
      audit.record({ kind: 'personal-access-token.revoked', ...actor, clientId });
      return true;
    },

    /** For the owner's page, at most once a minute and not waited for. */
    recordUse(clientId: string, address: string): void {
      const now = Date.now();
      if (now - (useNoted.get(clientId) ?? 0) < 60_000) return;
      if (useNoted.size >= 10_000) useNoted.clear();
      useNoted.set(clientId, now);
      query('update client set last_used_at = now(), last_used_from = ? where id = ?', [address, clientId]).catch(() =>
        useNoted.delete(clientId),
      );
    },
  };
}
