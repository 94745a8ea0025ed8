// Tests that the queue of audit events is limited while the database is slow.
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { createAudit, quietLogger, startAuthServer } from './auth-server.ts';

const server = useFixture(() => startAuthServer());

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
