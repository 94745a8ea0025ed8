// Serves oidc-provider with its defaults, rotation of refresh tokens, and a simple adapter for PostgreSQL. Like the
// library's example adapter for knex, the adapter stores everything in one table and runs one query for each call. The
// server logs and counts requests as the service does.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import pg from 'pg';
import { observe } from './observe.ts';
import { endWithParent, programOptions } from './program.ts';

type Setting = 'databaseUrl' | 'client_id' | 'client_secret' | 'scope' | 'audience' | 'redirectUri';
const options = programOptions<Record<Setting, string> & { port: number }>();
const { port, client_id, client_secret, scope, audience } = options;
const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
const tokenLifetime = 3600;
const accountId = 'acc-bench-service';
const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 10 });
// Without a listener, a lost connection would end the process.
pool.on('error', () => {});

await pool.query(`
  create table oidc_payload (
    model text not null, id text not null, payload jsonb not null, grant_id text, user_code text, uid text,
    expires_at timestamptz, consumed_at timestamptz, primary key (model, id)
  );
  create index on oidc_payload (grant_id);
  create index on oidc_payload (user_code);
  create index on oidc_payload (uid);`);

function createAdapter(model: string): Adapter {
  const findBy = async (column: 'id' | 'uid' | 'user_code', value: string): Promise<AdapterPayload | undefined> => {
    const { rows } = await pool.query<{ payload: AdapterPayload; consumed_at: Date | null }>(
      `select payload, consumed_at from oidc_payload
        where model = $1 and ${column} = $2 and (expires_at is null or expires_at > now())`,
      [model, value],
    );
    const [row] = rows;
    if (!row) return undefined;
    return { ...row.payload, ...(row.consumed_at && { consumed: Math.floor(row.consumed_at.getTime() / 1000) }) };
  };
  const run = async (sql: string, values: readonly unknown[]): Promise<void> => {
    await pool.query(sql, [model, ...values]);
  };
  return {
    async upsert(id, payload, expiresIn) {
      const { grantId, userCode, uid } = payload;
      const expiresAt = expiresIn ? new Date(Date.now() + expiresIn * 1000) : null;
      await run(
        `insert into oidc_payload (model, id, payload, grant_id, user_code, uid, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
           user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at`,
        [id, payload, grantId, userCode, uid, expiresAt],
      );
    },
    find: (id) => findBy('id', id),
    findByUid: (uid) => findBy('uid', uid),
    findByUserCode: (userCode) => findBy('user_code', userCode),
    consume: (id) => run('update oidc_payload set consumed_at = now() where model = $1 and id = $2', [id]),
    destroy: (id) => run('delete from oidc_payload where model = $1 and id = $2', [id]),
    revokeByGrantId: (id) => run('delete from oidc_payload where model = $1 and grant_id = $2', [id]),
  };
}

const withoutExpiry = 0;
await createAdapter('Client').upsert(
  client_id,
  {
    client_id,
    client_secret,
    grant_types: ['client_credentials', 'refresh_token', 'authorization_code'],
    redirect_uris: [options.redirectUri],
    token_endpoint_auth_method: 'client_secret_post',
    id_token_signed_response_alg: 'ES256',
  },
  withoutExpiry,
);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter: createAdapter,
  jwks: { keys: [{ ...key, kid: 'bench', use: 'sig', alg: 'ES256' }] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope,
        audience,
        accessTokenTTL: tokenLifetime,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  extraTokenClaims: () => ({ facilities: ['fac-bench'] }),
  rotateRefreshToken: true,
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  ttl: { AccessToken: tokenLifetime, ClientCredentials: tokenLifetime, Grant: 86_400, RefreshToken: 86_400 },
});

/** Creates a refresh token, as at the end of an authorization request. */
async function createRefreshToken(): Promise<string> {
  const client = await provider.Client.find(client_id);
  if (!client) throw new Error('the client was not stored');
  const grant = new provider.Grant({ accountId, clientId: client_id });
  grant.addOIDCScope('openid offline_access');
  grant.addResourceScope(audience, scope);
  const grantId = await grant.save();
  const scopes = `openid offline_access ${scope}`;
  const fields = { client, accountId, grantId, gty: 'authorization_code', resource: audience, scope: scopes };
  return new provider.RefreshToken(fields).save();
}

const handle = provider.callback();
createServer(async (request, response) => {
  if (request.url === '/ready') return void response.end();
  const requestId = randomUUID();
  const route = request.url;
  observe(request, response, () => ({ requestId, route, caller: { clientId: client_id } }));
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bench');
  if (pathname !== '/refresh-tokens') return void handle(request, response);
  const created: string[] = [];
  while (created.length < Number(searchParams.get('count'))) created.push(await createRefreshToken());
  response.end(JSON.stringify(created));
}).listen(port);
endWithParent();
