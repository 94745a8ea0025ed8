// Reads the list of revocations (table `revocation`). Triggers in apps/auth/migrations add most entries.
import { type Database, query, transaction } from '@bay-booking/service/database/database';
import { type RevocableToken, revocationIdsOf } from '@bay-booking/service/revocations';

const pageSize = 5_000;

export type RevocationStore = ReturnType<typeof createRevocationStore>;

export function createRevocationStore({ db }: { db: Database }) {
  return {
    /**
     * Reads the entries after the number `after`. No entry up to the number `last` appears later. One statement reads
     * the last number too, so both fit together.
     */
    async readPage(after: number) {
      const rows = await query<{ id: string | null; before: number; disabled: boolean; number: number; last: number }>(
        db,
        `select r.id, r.before::float8 as before, r.disabled, r.number::float8 as number, l.last::float8 as last
           from (select coalesce(max(number), 0) as last from revocation) l
           left join lateral (
             select id, before, disabled, number from revocation
              where number > $1 and expires_at > now() order by number limit ${pageSize + 1}) r on true`,
        [after],
      );
      const found = rows.filter(({ id }) => id !== null);
      const page = found.slice(0, pageSize);
      const hasMore = found.length > pageSize;
      return {
        // `id` is a hash of what has ended, and `before` is in seconds since 1970. A right that is `disabled` is a
        // facility that is disabled now.
        revoked: page.map(({ id, before, disabled }) => ({ id, before, ...(disabled && { disabled }) })),
        last: (hasMore ? page.at(-1)?.number : rows[0]?.last) ?? 0,
        hasMore,
      };
    },

    async isRevoked(token: RevocableToken, issuedAt: number): Promise<boolean> {
      const rows = await query(db, 'select 1 as found from revocation where id = any ($1) and before > $2 limit 1', [
        revocationIdsOf(token),
        issuedAt,
      ]);
      return rows.length > 0;
    },

    /** Adds personal access tokens that have expired. Returns true if there may be more. */
    publishExpiredTokens: (): Promise<boolean> =>
      transaction(db, async (tx) => {
        const expired = await query<{ id: string }>(
          tx,
          `update client set expiry_published_for = expires_at where id = any (array(
             select id from client
              where kind = 'personal-access-token' and expires_at <= now()
                and expiry_published_for is distinct from expires_at
              order by expires_at limit 100 for update skip locked)) returning id`,
        );
        for (const { id } of expired) await query(tx, 'select add_revocation($1)', [`client ${id}`]);
        return expired.length === 100;
      }),
  };
}
