// Tests that the queue of audit events is limited while the database is slow.
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

test('while the table is locked, 5000 events wait, and more events are logged but not stored', async () => {
  const audit = createAudit({ db: server.db, logger: quietLogger });
  const locked = await server.db.transaction();
  await locked.raw('lock table audit_event in exclusive mode');
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
