// Stores the records of oidc-provider, which we call artifacts, under the hash of their ids. Of several concurrent uses
// of a code, exactly one succeeds.
import { type Database, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { orUnavailable, queryOrUnavailable } from '../unavailable.ts';
import { columns, payloadOf, placeholders, rejectSecondUse, storedId, usedAt, valuesOf } from './artifact-row.ts';

interface FoundRow {
  readonly payload: AdapterPayload;
  readonly usedAt: number | null;
}

/** `key` is the conflict target. */
export const upsertStatement = (key: string): string =>
  `insert into oidc_artifact (${columns}) values (${placeholders})
   on conflict ${key} do update set id = excluded.id, payload = excluded.payload, grant_id = excluded.grant_id,
     account_id = excluded.account_id, client_id = excluded.client_id, uid = excluded.uid,
     user_code = excluded.user_code, expires_at = excluded.expires_at`;
const upsertById = upsertStatement('(model, id)');

const findStatement = (column: string): string =>
  `select payload, ${usedAt} as "usedAt" from oidc_artifact
    where model = $1 and ${column} = $2 and (expires_at is null or expires_at > now())`;
const findById = findStatement('id');
const findByUid = findStatement('uid');
const findByUserCode = findStatement('user_code');

export type ArtifactStore = ReturnType<typeof createArtifactStore>;

export function createArtifactStore({ db }: { db: Database }) {
  /** Userinfo then also rejects the JWTs of the grant. */
  const revokeGrant = async (grantId: string, on: Queryable = db): Promise<void> => {
    await queryOrUnavailable(on, `delete from oidc_artifact where grant_id = $1 or (model = 'Grant' and id = $1)`, [
      grantId,
    ]);
  };

  const adapterFor = (model: string): Adapter => {
    const findBy = async (statement: string, value: string, id?: string) => {
      const [row] = await queryOrUnavailable<FoundRow>(db, statement, [model, value]);
      return row && payloadOf(row.payload, id, row.usedAt ?? undefined);
    };

    return {
      async upsert(id, payload, expiresIn) {
        await queryOrUnavailable(db, upsertById, valuesOf(model, id, payload, expiresIn));
      },
      find: (id) => findBy(findById, storedId(model, id), id),
      // oidc-provider does not need the id after these two look-ups.
      findByUid: (uid) => findBy(findByUid, uid),
      findByUserCode: (userCode) => findBy(findByUserCode, userCode),
      async consume(id) {
        rejectSecondUse(
          await queryOrUnavailable(
            db,
            `update oidc_artifact set consumed_at = clock_timestamp()
              where model = $1 and id = $2 and consumed_at is null returning 1 as done`,
            [model, storedId(model, id)],
          ),
        );
      },
      async destroy(id) {
        await queryOrUnavailable(db, 'delete from oidc_artifact where model = $1 and id = $2', [
          model,
          storedId(model, id),
        ]);
      },
      async revokeByGrantId(grantId) {
        await queryOrUnavailable(db, 'delete from oidc_artifact where model = $1 and grant_id = $2', [model, grantId]);
      },
    };
  };

  return {
    adapterFor,

    /** Returns false if the id was already stored. */
    async insertOnce(model: string, id: string, expiresIn: number): Promise<boolean> {
      const rows = await queryOrUnavailable(
        db,
        `insert into oidc_artifact (model, id, payload, expires_at)
         values ($1, $2, '{}', now() + make_interval(secs => $3)) on conflict do nothing returning 1 as done`,
        [model, storedId(model, id), expiresIn],
      );
      return rows.length > 0;
    },

    revokeGrant: (grantId: string): Promise<void> => revokeGrant(grantId),

    /**
     * Revokes a JWT. One entry for its grant revokes every JWT of the grant, so that one user cannot fill the list. The
     * lock of `add_revocation` must come last.
     */
    revokeAccessToken: (jti: string, grantId: string | undefined): Promise<void> =>
      orUnavailable(() =>
        transaction(db, async (tx) => {
          if (grantId !== undefined) await revokeGrant(grantId, tx);
          await query(tx, 'select add_revocation($1)', [grantId === undefined ? `token ${jti}` : `grant ${grantId}`]);
        }),
      ),
  };
}
