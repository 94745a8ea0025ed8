// Implements `npm run prune-audit -w apps/auth`: deletes the events of the audit trail that are older than
// AUDIT_RETENTION_DAYS. DATABASE_URL must name the owner of the tables, because the role of the service may not delete
// events.
import { integer, mandatory, optional, postgresUrl, readConfig } from '@bay-booking/service/config';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { withDatabase } from '@bay-booking/service/with-database';
import { deleteOldEvents } from '../audit/store.ts';

runCommand(async () => {
  commandArguments('prune-audit -w apps/auth');
  const { url, days } = readConfig(process.env, {
    url: mandatory('DATABASE_URL', postgresUrl),
    days: optional('AUDIT_RETENTION_DAYS', integer(1, 36_500), 400),
  });
  await withDatabase({ url, applicationName: 'auth prune-audit' }, async (db) => {
    const count = await deleteOldEvents(db, days);
    process.stdout.write(`deleted ${count} audit events older than ${days} days\n`);
  });
});
