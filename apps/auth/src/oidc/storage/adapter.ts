// Where does oidc-provider keep what it issues? One table, by the SHA-256 of the id. `consume` has exactly one winner however many redeem
// a code at once (RFC 6749 section 4.1.2, RFC 9700 section 4.14).
import { type Database, jsonText, query } from '@bay-booking/service/database/database';
import { type Adapter, type AdapterPayload, errors, Provider } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';
import { currentRequestState, type FoundSession } from '../request-state.ts';
import { orUnavailable } from '../unavailable.ts';
import { type ArtifactRow, answeredAt, payloadOf, withoutSecrets } from './artifact-row.ts';
import type { Races } from './concurrent-use.ts';
import type { RefreshStore } from './refresh-tokens.ts';
import { sessionChanges } from './session-merge.ts';

export interface ArtifactStoreOptions {
  readonly db: Database;
  /** Clients have their own table and store. */
  readonly findClient: (id: string) => Promise<AdapterPayload | undefined>;
  readonly rotate: RefreshStore['rotate'];
  readonly races: Races;
}

export type ArtifactStore = ReturnType<typeof createArtifactStore>;

export function createArtifactStore({ db, findClient, rotate, races }: ArtifactStoreOptions) {
  const run = <T extends object>(sql: string, bindings: readonly unknown[]): Promise<readonly T[]> =>
    orUnavailable(() => query<T>(db, sql, bindings));

  /**
   * A session that was ended, or got another id, while this request had it stays so: writing it back would sign its browser in again. One
   * that gets a new id moves to it, from wherever a parallel request moved it. False when there is none to keep.
   */
  const keepSession = async (found: FoundSession, id: string, payload: AdapterPayload, expiresIn?: number) => {
    const { fields, authorizations } = sessionChanges(found.payload, payload);
    const rows = await run(
      `update oidc_artifact a set id = $1, account_id = $2, expires_at = now() + make_interval(secs => $3),
              payload = (a.payload - $4::text[]) || $5::jsonb || jsonb_build_object('authorizations',
                (coalesce(a.payload->'authorizations', '{}') - $6::text[]) || $7::jsonb)
        where a.model = 'Session' and a.uid = $8 and a.account_id is not distinct from $9 and (a.id = $1 or $10) returning 1 as done`,
      [
        hashSecret(id),
        payload.accountId ?? null,
        expiresIn ?? null,
        fields.gone,
        jsonText(withoutSecrets('Session', fields.set)),
        authorizations.gone,
        jsonText(authorizations.set),
        payload.uid ?? null,
        found.payload.accountId ?? null,
        id !== found.id,
      ],
    );
    return rows.length > 0;
  };

  const adapterFor = (model: string): Adapter => {
    const findBy = async (column: 'id' | 'uid' | 'user_code', value: string, id?: string) => {
      const [row] = await run<ArtifactRow>(
        `select a.id, a.payload, extract(epoch from a.consumed_at)::float8 as consumed, ${answeredAt} as answered
           from oidc_artifact a where a.model = $1 and a.${column} = $2 and (a.expires_at is null or a.expires_at > now())`,
        [model, value],
      );
      return row && payloadOf(row, races.isRace, id);
    };

    // A session gets a new id at every sign-in. Of two requests of one browser that do that at once, the later one's id is good, and
    // neither fails.
    const sameArtifact = model === 'Session' ? '(model, uid) where uid is not null' : '(model, id)';

    return {
      async upsert(id, payload, expiresIn) {
        const used = model === 'RefreshToken' ? currentRequestState()?.rotated : undefined;
        if (used !== undefined) return orUnavailable(() => rotate(used, id, payload, expiresIn));
        const session = model === 'Session' ? currentRequestState()?.session : undefined;
        if (session) {
          const kept = await keepSession(session, id, payload, expiresIn);
          // Only who has just signed in gets another one.
          if (kept || payload.loginTs === session.payload.loginTs) return;
        }
        await run(
          `insert into oidc_artifact (model, id, payload, grant_id, account_id, client_id, uid, user_code, expires_at)
           values ($1, $2, $3::jsonb, $4, $5, $6, $7, $8, now() + make_interval(secs => $9))
           on conflict ${sameArtifact} do update set id = excluded.id, payload = excluded.payload,
             grant_id = excluded.grant_id, account_id = excluded.account_id, client_id = excluded.client_id,
             uid = excluded.uid, user_code = excluded.user_code, expires_at = excluded.expires_at`,
          [
            model,
            hashSecret(id),
            jsonText(withoutSecrets(model, payload)),
            payload.grantId ?? null,
            payload.accountId ?? null,
            payload.clientId ?? null,
            payload.uid ?? null,
            payload.userCode ?? null,
            expiresIn ?? null,
          ],
        );
      },
      async find(id) {
        const found = await findBy('id', hashSecret(id), id);
        const notes = found && model === 'Session' ? currentRequestState() : undefined;
        // The library changes what it is given.
        if (notes && notes.session?.id !== id)
          notes.session = { id, payload: structuredClone(found as AdapterPayload) };
        return found;
      },
      // The session's own id is not known here, and nobody who looks up by uid needs it.
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (userCode) => findBy('user_code', userCode),
      async consume(id) {
        const notes = model === 'RefreshToken' ? currentRequestState() : undefined;
        if (notes) {
          // The library goes on to store its successor, always; that is when it is used up.
          notes.rotated = hashSecret(id);
          return;
        }
        const rows = await run(
          `update oidc_artifact set consumed_at = now()
            where model = $1 and id = $2 and consumed_at is null returning 1 as done`,
          [model, hashSecret(id)],
        );
        if (rows.length === 0) throw new errors.InvalidGrant({ detail: 'consumed by a parallel request' });
      },
      async destroy(id) {
        // What the library ends to store it under its new id moves there.
        const session = model === 'Session' ? Provider.ctx?.oidc?.session : undefined;
        if (session && session.jti !== id && currentRequestState()?.session?.id === id) return;
        await run('delete from oidc_artifact where model = $1 and id = $2', [model, hashSecret(id)]);
      },
      async revokeByGrantId(grantId) {
        await run('delete from oidc_artifact where model = $1 and grant_id = $2', [model, grantId]);
      },
    };
  };

  const clientAdapter: Adapter = {
    ...adapterFor('Client'),
    find: (id) => orUnavailable(() => findClient(id)),
  };

  return {
    adapter: (model: string): Adapter => (model === 'Client' ? clientAdapter : adapterFor(model)),

    /** Ends a grant: every code and token of it, and with the Grant itself userinfo for its JWTs. */
    async revokeGrant(grantId: string): Promise<void> {
      await run(`delete from oidc_artifact where grant_id = $1 or (model = 'Grant' and id = $2)`, [
        grantId,
        hashSecret(grantId),
      ]);
    },

    /** Deletes what expired an hour ago or more, a bounded number at a time; answers how many. */
    async cleanUp(limit = 1_000): Promise<number> {
      const rows = await run(
        `delete from oidc_artifact where ctid = any (array(
           select ctid from oidc_artifact where expires_at < now() - interval '1 hour' order by expires_at limit $1
             for update skip locked)) returning 1 as done`,
        [limit],
      );
      return rows.length;
    },
  };
}
