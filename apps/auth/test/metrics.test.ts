// Tests the metrics of tokens, signing keys and the database (docs/behaviour.md, "Health, metrics and logs"), and the
// limit of the queue of audit events.
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { basic, createAudit, quietLogger, scopes, startAuthServer } from './auth-server.ts';

const server = useFixture(() => startAuthServer());

const metrics = async (): Promise<string> => (await fetch(`${server.origin}/metrics`)).text();
const requestToken = (form: Record<string, string>, secret = 'demo-pat-north-secret') =>
  server.post('/connect/token', { scope: scopes.bookings, ...form }, basic('demo-pat-north', secret));

test('the metrics count token requests by grant type and outcome, and unknown grant types as `other`', async () => {
  expect((await requestToken({ grant_type: 'client_credentials' })).status).toBe(200);
  expect((await requestToken({ grant_type: 'client_credentials', scope: 'openid' })).status).toBe(400);
  expect((await requestToken({ grant_type: 'client_credentials' }, 'wrong')).status).toBe(401);
  expect((await requestToken({ grant_type: 'made-up-by-a-client' })).status).toBe(400);
  const text = await metrics();
  expect(text).toMatch(/auth_tokens_total\{grant_type="client_credentials",outcome="issued",service="auth"\} 1/);
  expect(text).toMatch(/auth_tokens_total\{grant_type="client_credentials",outcome="invalid_scope",service="auth"\} 1/);
  expect(text).toMatch(
    /auth_tokens_total\{grant_type="client_credentials",outcome="invalid_client",service="auth"\} 1/,
  );
  expect(text).toMatch(/auth_tokens_total\{grant_type="other",outcome="\w+",service="auth"\} 1/);
  expect(text).toMatch(/auth_events_total\{kind="token.issued",service="auth"\} 1/);
  expect(text).not.toContain('made-up-by-a-client');
});

test('the error code of a rejected request is in the access log and in the metrics', async () => {
  const { headers } = await requestToken({ grant_type: 'client_credentials' }, 'wrong');
  await requestToken({ grant_type: 'made-up-by-a-client' });
  const requestId = headers.get('x-request-id');
  const line = server.log.map((text) => JSON.parse(text)).find((entry) => entry.requestId === requestId);
  expect(line).toMatchObject({ route: '/connect/token', status: 401, problems: ['invalid_client'] });
  const text = await metrics();
  expect(text).toMatch(
    /http_problems_total\{method="POST",route="\/connect\/token",code="invalid_client",service="auth"\} \d/,
  );
  expect(text).not.toContain('made-up-by-a-client');
});

test('the metrics contain the age of the signing keys and the connections of the pool', async () => {
  const text = await metrics();
  for (const alg of ['ES256', 'RS256']) {
    expect(text).toMatch(new RegExp(`signing_key_age_seconds\\{alg="${alg}",state="current",service="auth"\\} \\d`));
  }
  expect(text).toMatch(/database_pool_connections\{state="limit",service="auth"\} \d+/);
});

test('while the table is locked, at most 5000 events wait, and further events are not stored', async () => {
  const audit = createAudit({ db: server.db, logger: quietLogger });
  const locked = await server.db.transaction();
  await locked.raw('lock table audit_event in exclusive mode');
  // The first flush takes the events of burst 0 out of the queue and waits for the lock. The later flushes wait for the
  // first one. Burst 1 therefore fills the queue, and the events of the bursts 2 and 3 are discarded.
  const flushes: Promise<void>[] = [];
  for (let burst = 0; burst < 4; burst += 1) {
    for (let event = 0; event < 5_000; event += 1) audit.record({ kind: 'test.burst', detail: { burst } });
    flushes.push(audit.flush());
  }
  await locked.commit();
  await Promise.all(flushes);
  const { rows } = await server.db.raw(
    `select (detail ->> 'burst')::int as burst, count(*)::int as n
       from audit_event where kind = 'test.burst' group by 1 order by 1`,
  );
  expect(rows).toEqual([
    { burst: 0, n: 5_000 },
    { burst: 1, n: 5_000 },
  ]);
});
