// Creates a separate database for each app. Each database has two roles: the owner runs the migrations, and the service
// role may only read and write rows. Also stores the secrets that several launchers share.
import pg from 'pg';
import type { AppName } from './settings.ts';

const ownerOf = (app: AppName) => `${app}_owner`;
const serviceOf = (app: AppName) => `${app}_service`;

export const roles: readonly string[] = (['auth', 'bookings'] as const).flatMap((app) => [
  ownerOf(app),
  serviceOf(app),
]);

export interface DatabaseUrls {
  owner: string;
  service: string;
}

/** Creates or updates the database and its two roles, and sets the passwords of the roles. */
export async function ensureDatabase(
  serverUrl: string,
  app: AppName,
  passwords: Readonly<Record<string, string>>,
): Promise<DatabaseUrls> {
  const owner = ownerOf(app);
  const service = serviceOf(app);
  const urls = {
    owner: databaseUrl(serverUrl, app, owner, passwords[owner] as string),
    service: databaseUrl(serverUrl, app, service, passwords[service] as string),
  };
  await withClient(serverUrl, async (client) => {
    for (const role of [owner, service]) await ensureRole(client, role, passwords[role] as string);
    const { rowCount } = await client.query('select from pg_database where datname = $1', [app]);
    if (!rowCount) {
      // An administrator who is not a superuser must be a member of the role that will own the database.
      await client.query(`grant ${owner} to current_user`);
      await client.query(`create database ${app} owner ${owner} encoding 'UTF8' template template0`);
    }
    await client.query(`revoke all on database ${app} from public`);
    await client.query(`grant connect on database ${app} to ${service}`);
    await client.query(`alter database ${app} set timezone to 'UTC'`);
    // The library pg parses dates only in the ISO format, and the server may have another default format.
    await client.query(`alter database ${app} set datestyle to 'ISO, YMD'`);
    // In production, infra/postgres/service.sql sets the same timeouts.
    await client.query(`alter role ${service} set lock_timeout to '2s'`);
    await client.query(`alter role ${service} set statement_timeout to '5s'`);
    await client.query(`alter role ${service} set idle_in_transaction_session_timeout to '10s'`);
  });
  await withClient(urls.owner, async (client) => {
    const rowPrivileges = 'select, insert, update, delete';
    await client.query(`grant usage on schema public to ${service}`);
    await client.query(`grant ${rowPrivileges} on all tables in schema public to ${service}`);
    // The database of auth has an audit trail. The service may add and read its events, but not change or delete them.
    const { rows } = await client.query<{ exists: boolean }>(`select to_regclass('audit_event') is not null as exists`);
    if (rows[0]?.exists) await client.query(`revoke update, delete, truncate on audit_event from ${service}`);
    await client.query(`grant usage, select on all sequences in schema public to ${service}`);
    await client.query(`alter default privileges in schema public grant ${rowPrivileges} on tables to ${service}`);
    await client.query(`alter default privileges in schema public grant usage, select on sequences to ${service}`);
  });
  return urls;
}

/**
 * Returns the secrets that all launchers on this server share. The first launcher stores its own secrets in a table of
 * one row, which only the administrator can read. Launchers that share a server need the same secrets, because each
 * launcher decrypts values that another launcher has encrypted.
 */
export async function shareSecrets<T extends object>(serverUrl: string, own: T): Promise<T> {
  let shared = own;
  await withClient(serverUrl, async (client) => {
    await client.query('begin');
    // If two launchers start at the same time, the second waits here until the first has committed. The number of the
    // lock is arbitrary.
    await client.query('select pg_advisory_xact_lock(1650545514)');
    await client.query('create schema if not exists bay_booking_launcher');
    await client.query(
      `create table if not exists bay_booking_launcher.secrets (
         sole boolean primary key default true check (sole), value jsonb not null
       )`,
    );
    // If both objects contain a secret, `||` keeps the stored one. `own` only adds secrets that are not stored yet.
    await client.query(
      `insert into bay_booking_launcher.secrets (value) values ($1)
       on conflict (sole) do update set value = excluded.value || secrets.value`,
      [own],
    );
    const { rows } = await client.query<{ value: T }>('select value from bay_booking_launcher.secrets');
    await client.query('commit');
    shared = rows[0]?.value ?? own;
  });
  return shared;
}

async function ensureRole(client: pg.Client, role: string, password: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_roles where rolname = $1', [role]);
  await client.query(
    `${rowCount ? 'alter' : 'create'} role ${role} with login password ${client.escapeLiteral(password)}`,
  );
}

function databaseUrl(serverUrl: string, database: string, role: string, password: string): string {
  const url = new URL(serverUrl);
  url.username = role;
  url.password = password;
  url.pathname = `/${database}`;
  return url.href;
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 60_000 });
  // A lost connection also makes the current query fail, so this event is ignored. Without a listener, it would end the
  // process.
  client.on('error', () => {});
  const { host, username } = new URL(url);
  try {
    await client.connect();
  } catch (error) {
    // The message is empty if several addresses of the host refused the connection. The code then says why.
    const { code, message } = error as { code?: string; message: string };
    throw new Error(`cannot connect to PostgreSQL at ${host} as ${username}: ${message || code}`, { cause: error });
  }
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
