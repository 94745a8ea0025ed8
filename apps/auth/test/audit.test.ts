// What if the database takes audit events more slowly than they come? They wait, but not without end.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAudit } from '../src/audit/audit.ts';
import { type AuthServer, quietLogger, startAuthServer } from './auth-server.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await startAuthServer();
});
afterAll(async () => {
  await server.close();
});

test('while the table is locked, the events of one statement and 5000 more wait; the rest are in the log alone', async () => {
  const audit = createAudit({ db: server.db, logger: quietLogger });
  const locked = await server.db.transaction();
  await locked.raw('lock table audit_event in exclusive mode');
  const settled: Promise<void>[] = [];
  for (let burst = 0; burst < 4; burst += 1) {
    for (let event = 0; event < 5_000; event += 1) audit.record({ kind: 'test.burst', detail: { burst } });
    settled.push(audit.flush());
  }
  await locked.commit();
  await Promise.all(settled);
  const { rows } = await server.db.raw(
    "select (detail ->> 'burst')::int as burst, count(*)::int as n from audit_event where kind = 'test.burst' group by 1 order by 1",
  );
  expect(rows).toEqual([
    { burst: 0, n: 5_000 },
    { burst: 1, n: 5_000 },
  ]);
});
