// Stores the records of oidc-provider, which we call artifacts. The id of most is a secret, so the table oidc_artifact
// contains only its SHA-256 (docs/decisions.md). Of several concurrent uses of a code, exactly one succeeds.
import { type Database, jsonText, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { orUnavailable, queryOrUnavailable } from '../unavailable.ts';

/** These ids give nobody access to anything, so a payload may contain them. */
const modelsWithPublicId = new Set(['Grant', 'ReplayDetection']);

const storedId = (model: string, id: string): string => (modelsWithPublicId.has(model) ? id : hashSecret(id));

export const columns = 'model, id, payload, grant_id, account_id, client_id, uid, user_code, expires_at';
export const placeholders = '$1, $2, $3::jsonb, $4, $5, $6, $7, $8, now() + make_interval(secs => $9)';

/** `expiresIn` is in seconds. */
export const valuesOf = (model: string, id: string, payload: AdapterPayload, expiresIn: number | undefined) => [
  model,
  storedId(model, id),
  jsonText(withoutSecrets(model, payload)),
  payload.grantId ?? null,
  payload.accountId ?? null,
  payload.clientId ?? null,
  payload.uid ?? null,
  payload.userCode ?? null,
  expiresIn ?? null,
];

/** `jti` is the id. */
export function withoutSecrets(model: string, { jti, ...payload }: AdapterPayload): AdapterPayload {
  if (modelsWithPublicId.has(model)) return { ...payload, jti };
  // Nothing reads the session cookie in an interaction.
  const { session } = payload as { session?: Record<string, unknown> };
  return session ? { ...payload, session: { ...session, cookie: undefined } } : payload;
}

// The time of the first use, or null. oidc-provider revokes the grant of a used code or refresh token, because the
// second use may be that of a thief (RFC 9700 section 4.14.2). A first use less than a second ago counts as none,
// because a client may send a request twice. `consume` then rejects the second request.
export const usedAt = `extract(epoch from
  case when consumed_at <= clock_timestamp() - interval '1 second' then consumed_at end)::float8`;

/** `changed` are the rows that a statement returned which consumes a code or refresh token: none if it was used. */
export function rejectSecondUse(changed: readonly unknown[]): void {
  if (changed.length === 0) throw new errors.InvalidGrant({ detail: 'used by a concurrent request' });
}

// The clock of the database has decided that the record is valid. oidc-provider compares `exp` with the clock of this
// host, which may be wrong, so the payload gets an `exp` in the future.
export const payloadOf = (
  payload: AdapterPayload,
  id: string | undefined,
  consumedAt: number | undefined,
): AdapterPayload => ({
  ...payload,
  ...(payload.exp !== undefined && { exp: Math.max(payload.exp, Math.floor(Date.now() / 1000) + 1) }),
  ...(id !== undefined && { jti: id }),
  ...(consumedAt !== undefined && { consumed: Math.floor(consumedAt) }),
});

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
