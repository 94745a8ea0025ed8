// Serves oidc-provider with a simple adapter for PostgreSQL. This server is a peer: a server with which the benchmark
// compares auth. Like the library's example adapter for knex, the adapter stores everything in one table and runs one
// query for each call.
import type { Adapter, AdapterPayload } from 'oidc-provider';
import pg from 'pg';
import { serveProvider } from './provider-server.ts';
import { tokenPeerOptions } from './token-peer.ts';

const options = tokenPeerOptions();
const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 10 });
// Without a listener, a lost connection would end the process.
pool.on('error', () => {});

await pool.query(`
  drop table if exists oidc_payload;
  create table oidc_payload (
    model text not null,
    id text not null,
    payload jsonb not null,
    grant_id text,
    user_code text,
    uid text,
    expires_at timestamptz,
    consumed_at timestamptz,
    primary key (model, id)
  );
  create index on oidc_payload (grant_id);
  create index on oidc_payload (user_code);
  create index on oidc_payload (uid);`);

interface Row {
  readonly payload: AdapterPayload;
  readonly consumed_at: Date | null;
}

function createAdapter(model: string): Adapter {
  const findBy = async (column: 'id' | 'uid' | 'user_code', value: string): Promise<AdapterPayload | undefined> => {
    const { rows } = await pool.query<Row>(
      `select payload, consumed_at from oidc_payload
        where model = $1 and ${column} = $2 and (expires_at is null or expires_at > now())`,
      [model, value],
    );
    const [row] = rows;
    if (!row) return undefined;
    return { ...row.payload, ...(row.consumed_at && { consumed: Math.floor(row.consumed_at.getTime() / 1000) }) };
  };
  return {
    async upsert(id, payload, expiresIn) {
      await pool.query(
        `insert into oidc_payload (model, id, payload, grant_id, user_code, uid, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
           user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at`,
        [
          model,
          id,
          payload,
          payload.grantId,
          payload.userCode,
          payload.uid,
          expiresIn ? new Date(Date.now() + expiresIn * 1000) : null,
        ],
      );
    },
    find: (id) => findBy('id', id),
    findByUid: (uid) => findBy('uid', uid),
    findByUserCode: (userCode) => findBy('user_code', userCode),
    async consume(id) {
      await pool.query('update oidc_payload set consumed_at = now() where model = $1 and id = $2', [model, id]);
    },
    async destroy(id) {
      await pool.query('delete from oidc_payload where model = $1 and id = $2', [model, id]);
    },
    async revokeByGrantId(grantId) {
      await pool.query('delete from oidc_payload where model = $1 and grant_id = $2', [model, grantId]);
    },
  };
}

await serveProvider(options, createAdapter);
