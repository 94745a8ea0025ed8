// Where does oidc-provider keep what it issues? One table; an id is a bearer secret, so its SHA-256 is the key and the id itself is
// stored nowhere. `consume` has exactly one winner however many redeem a code at once (RFC 6749 section 4.1.2, RFC 9700 section 4.14).
import { createHash } from 'node:crypto';
import { type Database, isUnavailable } from '@bay-booking/service/database';
import { type Adapter, type AdapterPayload, errors, Provider } from 'oidc-provider';
import { jsonText } from './json.ts';

const hash = (id: string): string => createHash('sha256').update(id).digest('base64url');

/** Models whose id no bearer ever holds; their payload keeps it. */
const namedModels = new Set(['Grant', 'ReplayDetection']);

/** A database that is away is the client's turn to try again, not a fault of its request. */
export function unavailable(cause: unknown): Error {
  const error = new errors.TemporarilyUnavailable('the service is not available for a moment, try again', {
    cause,
    detail: 'database away',
  });
  return Object.assign(error, { status: 503, statusCode: 503 });
}

export async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isUnavailable(error) ? unavailable(error) : error;
  }
}

/**
 * Whether the request now served had arrived before the one that used the artifact up was answered (seconds of the epoch): then the two
 * ran side by side, and this one goes on to lose in `consume`. Only one that came later is a replay, for which the library revokes the
 * whole grant. Of two hosts' clocks that differ, the worst is that a replay within the difference is refused without revoking.
 */
function lostRace(answered: number): boolean {
  const arrivedAt = arrivals.get(Provider.ctx?.req ?? nobody);
  return arrivedAt !== undefined && arrivedAt <= answered * 1000;
}

const nobody = {};
const arrivals = new WeakMap<object, number>();

/** Notes when a request came in, in milliseconds; to be called first. */
export function noteArrival(request: object): void {
  arrivals.set(request, Date.now());
}

function withoutSecrets(model: string, { jti, ...payload }: AdapterPayload): AdapterPayload {
  if (namedModels.has(model)) return { ...payload, jti };
  // An interaction notes the id of its session, which is the session's cookie; nobody reads it.
  const { session } = payload as { session?: Record<string, unknown> };
  return session ? { ...payload, session: { ...session, cookie: undefined } } : payload;
}

interface Row {
  readonly payload: AdapterPayload;
  readonly consumed: number | null;
  readonly answered: number;
}

/** A refresh token is answered with its successor, so its use was answered when that was made; a code's only if it brought one. */
const answeredAt = `case when a.consumed_at is not null then extract(epoch from coalesce(
    (select min(successor.created_at) from oidc_artifact successor
      where successor.grant_id = a.grant_id and successor.model = 'RefreshToken' and successor.created_at >= a.consumed_at),
    case when a.model = 'RefreshToken' then least(now(), a.consumed_at + interval '5 seconds') else a.consumed_at end))::float8 end`;

export interface ArtifactStoreOptions {
  readonly db: Database;
  /** Clients have their own table and store. */
  readonly findClient: (id: string) => Promise<AdapterPayload | undefined>;
}

export type ArtifactStore = ReturnType<typeof createArtifactStore>;

export function createArtifactStore({ db, findClient }: ArtifactStoreOptions) {
  const run = async <T>(sql: string, bindings: readonly unknown[]): Promise<readonly T[]> => {
    const { rows } = await orUnavailable(() => db.raw<{ rows: T[] }>(sql, bindings as never));
    return rows;
  };

  const adapterFor = (model: string): Adapter => {
    const findBy = async (column: 'id' | 'uid' | 'user_code', value: string, id?: string) => {
      const [row] = await run<Row>(
        `select a.payload, extract(epoch from a.consumed_at)::float8 as consumed, ${answeredAt} as answered
           from oidc_artifact a where a.model = ? and a.${column} = ? and (a.expires_at is null or a.expires_at > now())`,
        [model, value],
      );
      if (!row) return undefined;
      return {
        ...row.payload,
        ...(id !== undefined && { jti: id }),
        ...(row.consumed !== null && !lostRace(row.answered) && { consumed: Math.floor(row.consumed) }),
      };
    };

    // A session gets a new id at every sign-in. Of two requests of one browser that do that at once, the later one's id is good, and
    // neither fails.
    const sameArtifact = model === 'Session' ? '(model, uid) where uid is not null' : '(model, id)';

    return {
      async upsert(id, payload, expiresIn) {
        await run(
          `insert into oidc_artifact (model, id, payload, grant_id, account_id, client_id, uid, user_code, expires_at)
           values (?, ?, ?::jsonb, ?, ?, ?, ?, ?, now() + make_interval(secs => ?))
           on conflict ${sameArtifact} do update set id = excluded.id, payload = excluded.payload,
             grant_id = excluded.grant_id, account_id = excluded.account_id, client_id = excluded.client_id,
             uid = excluded.uid, user_code = excluded.user_code, expires_at = excluded.expires_at`,
          [
            model,
            hash(id),
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
      find: (id) => findBy('id', hash(id), id),
      // The session's own id is not known here, and nobody who looks up by uid needs it.
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (userCode) => findBy('user_code', userCode),
      async consume(id) {
        const rows = await run(
          `update oidc_artifact set consumed_at = now()
            where model = ? and id = ? and consumed_at is null returning 1 as done`,
          [model, hash(id)],
        );
        if (rows.length === 0) throw new errors.InvalidGrant({ detail: 'consumed by a parallel request' });
      },
      async destroy(id) {
        await run('delete from oidc_artifact where model = ? and id = ?', [model, hash(id)]);
      },
      async revokeByGrantId(grantId) {
        await run('delete from oidc_artifact where model = ? and grant_id = ?', [model, grantId]);
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
      await run(`delete from oidc_artifact where grant_id = ? or (model = 'Grant' and id = ?)`, [
        grantId,
        hash(grantId),
      ]);
    },

    /** Deletes what expired an hour ago or more, a bounded number at a time; answers how many. */
    async cleanUp(limit = 1_000): Promise<number> {
      const rows = await run(
        `delete from oidc_artifact where ctid = any (array(
           select ctid from oidc_artifact where expires_at < now() - interval '1 hour' order by expires_at limit ?
             for update skip locked)) returning 1 as done`,
        [limit],
      );
      return rows.length;
    },
  };
}
