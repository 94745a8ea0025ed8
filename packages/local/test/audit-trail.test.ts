// Tests how the two database roles that `npm start` creates, the owner and the service role, may change the audit trail
// and the list of applied migrations.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { migrate } from '@bay-booking/service/database/migrate';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { ensureDatabase } from '../src/databases.ts';

const auth = join(import.meta.dirname, '../../../apps/auth');

test('the service role may only insert and read audit events, and the owner may delete old events', async () => {
  const server = await startEmbeddedPostgres({ fsync: false });
  try {
    const passwords = { auth_owner: 'owner-password', auth_service: 'service-password' };
    const urls = await ensureDatabase(server.url, 'auth', passwords);
    await migrate({ url: urls.owner, directory: join(auth, 'migrations') });
    // Every `npm start` calls both functions. They must not give the service role the right to change or delete events.
    await ensureDatabase(server.url, 'auth', passwords);
    await migrate({ url: urls.owner, directory: join(auth, 'migrations') });
    const client = new pg.Client(urls.service);
    await client.connect();
    await client.query(
      `insert into audit_event (kind, at) values ('new', now()), ('old', now() - interval '401 days')`,
    );
    for (const statement of [
      'delete from audit_event',
      `update audit_event set kind = 'other'`,
      'truncate audit_event',
      'drop table audit_event',
    ]) {
      await expect(client.query(statement)).rejects.toThrow(/permission denied|must be owner/);
    }
    // With one function, the service can empty the personal data of a deleted account, and of no other one.
    await client.query(
      `insert into account (id, username, username_key) values ('acc-here', 'here@range.example', 'here@range.example')`,
    );
    await client.query(
      `insert into audit_event (kind, account_id, address)
       values ('old', 'acc-gone', '192.0.2.1'), ('old', 'acc-here', '192.0.2.2')`,
    );
    const erase = (id: string) => client.query('select erase_audit_events($1)', [id]);
    for (const id of ['acc-gone', 'acc-here']) await expect(erase(id)).rejects.toThrow(`${id} was not deleted`);
    await client.query(`insert into deleted_account (id) values ('acc-gone'), ('acc-here')`);
    await erase('acc-gone');
    await expect(erase('acc-here')).rejects.toThrow('acc-here was not deleted');
    await expect(client.query(`select erase_person('acc-here', '{here@range.example}')`)).rejects.toThrow('permission');
    const { rows: addresses } = await client.query(`select address from audit_event where kind = 'old' order by id`);
    expect(addresses.map(({ address }) => address)).toEqual([null, null, '192.0.2.2']);
    for (const statement of [
      'delete from schema_migration',
      "update schema_migration set name = 'other'",
      "insert into schema_migration values (999, 'other', 'x')",
    ]) {
      await expect(client.query(statement)).rejects.toThrow('permission denied');
    }
    const prune = (url: string) =>
      spawnSync(process.execPath, ['src/commands/prune-audit.ts'], {
        cwd: auth,
        env: { ...process.env, DATABASE_URL: url },
      });
    expect(prune(urls.service).status).toBe(1);
    expect(prune(urls.owner).stdout.toString()).toBe('deleted 1 audit events older than 400 days\n');
    const { rows } = await client.query("select kind from audit_event where kind = 'new' or account_id is null");
    expect(rows).toEqual([{ kind: 'new' }]);
    await client.end();
  } finally {
    await server.stop();
  }
});
