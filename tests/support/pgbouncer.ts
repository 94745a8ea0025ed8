// Starts PgBouncer in transaction mode in front of a database server. Before version 1.21, PgBouncer does not support
// prepared statements in this mode. Debian 12 has version 1.18.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@bay-booking/postgres/ports';
import { findPgBouncer } from '@bay-booking/testkit/programs';
import { eventually } from '@bay-booking/testkit/wait';
import { rolePassword } from './database-server.ts';

/** The maximum number of connections from PgBouncer to each database. */
export const serverConnections = 4;

export type Pooler = Awaited<ReturnType<typeof startPooler>>;

export async function startPooler(databasePort: number) {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-pooler-'));
  // PgBouncer runs as another user (see below), who must be able to read the folder.
  await chmod(folder, 0o755);
  const entry = (app: string) =>
    `${app} = host=127.0.0.1 port=${databasePort} user=${app}_service password=${rolePassword}`;
  // `auth_type = any` accepts every user name and requires no password.
  const settings = [
    `[databases]\n${entry('auth')}\n${entry('bookings')}\n[pgbouncer]`,
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    `auth_type = any\npool_mode = transaction\ndefault_pool_size = ${serverConnections}\nmax_client_conn = 200`,
  ];
  await writeFile(join(folder, 'pgbouncer.ini'), settings.join('\n'));
  // PgBouncer refuses to run as root. 65534 is the user `nobody`.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  // The path is never undefined, because the callers skip their tests if PgBouncer is not installed.
  const child = spawn(findPgBouncer() as string, ['-q', join(folder, 'pgbouncer.ini')], {
    stdio: 'ignore',
    ...account,
  });
  // Waits until PgBouncer accepts connections.
  await eventually(async () => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return true;
    } finally {
      socket.destroy();
    }
  });
  return {
    /** Returns the URL with which a service connects to its database through the pooler. */
    urlOf: (app: 'auth' | 'bookings') => `postgres://anyone@127.0.0.1:${port}/${app}`,
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGINT');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
