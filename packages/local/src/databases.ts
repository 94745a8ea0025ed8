// Creates a database with two roles for each app: the owner runs migrations, and the service role can only read and
// write rows. Also stores secrets that several launchers share.
import pg from 'pg';
import type { AppName } from './settings.ts';

const ownerOf = (app: AppName) => `${app}_owner`;
const serviceOf = (app: AppName) => `${app}_service`;

export const roles: readonly string[] = (['auth', 'bookings'] as const).flatMap((app) => [
  ownerOf(app),
  serviceOf(app),
]);

/** Returns the database URL of each role. */
export async function ensureDatabase(serverUrl: string, app: AppName, passwords: Readonly<Record<string, string>>) {
  const owner = ownerOf(app);
  const service = serviceOf(app);
  await withClient(serverUrl, async (client) => {
    for (const role of [owner, service]) await ensureRole(client, role, passwords[role] as string);
    const { rowCount } = await client.query('select from pg_database where datname = $1', [app]);
    if (!rowCount) {
      // An administrator who is not a superuser must be a member of the role that owns the new database.
      await client.query(`grant ${owner} to current_user`);
      await client.query(`create database ${app} owner ${owner} encoding 'UTF8' template template0`);
    }
    // pg parses dates only in ISO format. In production, infra/postgres/service.sql sets the timeouts.
    await client.query(`
      revoke all on database ${app} from public;
      grant connect on database ${app} to ${service};
      alter database ${app} set timezone to 'UTC';
      alter database ${app} set datestyle to 'ISO, YMD';
      alter role ${service} set lock_timeout to '2s';
      alter role ${service} set statement_timeout to '5s';
      alter role ${service} set idle_in_transaction_session_timeout to '10s'`);
  });
  const urlOf = (role: string) => databaseUrl(serverUrl, app, role, passwords[role] as string);
  const urls = { owner: urlOf(owner), service: urlOf(service) };
  // A migration may take rights away again: the service role of auth cannot change audit events.
  await withClient(urls.owner, async (client) => {
    await client.query(`
      grant usage on schema public to ${service};
      alter default privileges in schema public grant select, insert, update, delete on tables to ${service};
      alter default privileges in schema public grant usage, select on sequences to ${service}`);
  });
  return urls;
}

export const hasAccounts = (ownerUrl: string, accounts: readonly { id: string }[]): Promise<boolean> =>
  withClient(ownerUrl, async (client) => {
    const ids = accounts.map(({ id }) => id);
    return Boolean((await client.query('select from account where id = any($1)', [ids])).rowCount);
  });

/**
 * Returns the secrets that all launchers on this server share: each launcher decrypts what others have encrypted. The
 * first launcher stores its own secrets in a table that only the administrator can read.
 */
export async function shareSecrets<T extends object>(serverUrl: string, own: T): Promise<T> {
  return withClient(serverUrl, async (client) => {
    // A second launcher waits here until this transaction ends. The lock's number is arbitrary.
    await client.query(`
      begin;
      select pg_advisory_xact_lock(1650545514);
      create schema if not exists bay_booking_launcher;
      create table if not exists bay_booking_launcher.secrets (
        sole boolean primary key default true check (sole), value jsonb not null
      )`);
    // Stored secrets take precedence over `own`, which only adds missing ones.
    const { rows } = await client.query<{ value: T }>(
      `insert into bay_booking_launcher.secrets (value) values ($1)
       on conflict (sole) do update set value = excluded.value || secrets.value
       returning value`,
      [own],
    );
    await client.query('commit');
    return rows[0]?.value as T;
  });
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

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 60_000 });
  // A lost connection also fails the current query. An `error` event without a listener would end the process.
  client.on('error', () => {});
  const { host, username } = new URL(url);
  try {
    await client.connect();
  } catch (error) {
    // If several IP addresses of the host reject the connection, the message is empty and only `code` has the reason.
    const { code, message } = error as { code?: string; message: string };
    throw new Error(`cannot connect to PostgreSQL at ${host} as ${username}: ${message || code}`, { cause: error });
  }
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
