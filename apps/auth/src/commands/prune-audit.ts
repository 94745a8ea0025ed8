// Implements `npm run prune-audit -w apps/auth`: deletes the events of the audit trail that are older than
// AUDIT_RETENTION_DAYS. It connects as the owner of the database, because the service may not delete events.
import { integer, mandatory, optional, postgresUrl, readConfig } from '@bay-booking/service/config';
import { connectDatabase } from '@bay-booking/service/database/database';
import { runCommand } from '@bay-booking/service/lifecycle';
import { deleteOldEvents } from '../audit/retention-store.ts';

runCommand(async () => {
  const config = readConfig(process.env, {
    databaseUrl: mandatory('DATABASE_URL', postgresUrl),
    days: optional('AUDIT_RETENTION_DAYS', integer(1, 36_500), 400),
  });
  const db = connectDatabase({
    url: config.databaseUrl,
    applicationName: 'auth prune-audit',
    poolMax: 1,
    queryTimeout: 60_000,
  });
  try {
    const count = await deleteOldEvents(db, config.days);
    process.stdout.write(`deleted ${count} audit events older than ${config.days} days\n`);
  } finally {
    await db.destroy();
  }
});
