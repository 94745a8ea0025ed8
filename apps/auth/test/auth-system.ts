// Starts authorization servers. Each has its own database with the demo accounts and clients.
import { importFile } from '@bay-booking/records/commands';
import { connectDatabase } from '@bay-booking/service/database/database';
import { createLogger } from '@bay-booking/service/logging';
import { createMetrics } from '@bay-booking/service/metrics';
import { createTestDatabase } from '@bay-booking/testkit/database';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { startTcpProxy } from '@bay-booking/testkit/tcp-proxy';
import { hashSync } from '@node-rs/argon2';
import { createApp } from '../src/app.ts';
import { createAudit } from '../src/audit/audit.ts';
import { type Lockout, lockout, migrationsDirectory, readAuthConfig } from '../src/config.ts';
import { createAccountRecords } from '../src/management/management.ts';
import { createScopeTable } from '../src/oidc/scopes.ts';
import { demoDocument } from './demo-document.ts';
import type { ImportDocument } from './import-document.ts';

// Tests import this code from here, because all files of a worker process share it.
export { deleteExpiredRows } from '../src/cleanup-store.ts';
export { createClientValidator } from '../src/oidc/clients/validation.ts';
export { reencryptEmails } from '../src/outbox/mailer.ts';
export { createKeyStore, WrongEncryptionKey } from '../src/signing-keys/store.ts';
export { connectDatabase, createAccountRecords, createAudit, importFile };

/** The global object of the servers, with their clock and `fetch`. The test itself has another one. */
export const serverGlobals = globalThis;

export const scopeBase = 'https://bay-booking.example';
export const scopes = createScopeTable(scopeBase);
export const audience = 'http://localhost:4001';
export const encryptionKey = Buffer.alloc(32, 7).toString('base64');

export const quietLogger = createLogger({ service: 'test', level: 'silent' });

type Form = Record<string, string | readonly string[]>;

/** All servers of a worker process share these records, because the compilation of their schemas takes long. */
let records: ReturnType<typeof createAccountRecords> | undefined;

/**
 * Starts a server. `environment` adds variables to those below, or replaces them, for all instances of this server. In
 * a browser, passkeys need the host `localhost`. Repeated failures to sign in do not delay the responses, unless
 * `lockout` says so.
 */
export async function startAuthServer(
  environment: Record<string, string> = {},
  { host = '127.0.0.1', lockout: limitsOfServer = {} }: { host?: string; lockout?: Partial<Lockout> } = {},
) {
  const database = await createTestDatabase({ migrations: migrationsDirectory });
  const proxyUrl = new URL(database.url);
  const proxy = await startTcpProxy({ host: proxyUrl.hostname, port: Number(proxyUrl.port || 5432) });
  proxyUrl.host = `127.0.0.1:${proxy.port}`;
  const log: string[] = [];
  const logger = createLogger({
    service: 'auth',
    level: 'debug',
    destination: { write: (line) => void log.push(line) },
  });
  const db = connectDatabase({ url: database.url, applicationName: 'test', poolMax: 4 });

  /** Imports a document as the import command does. */
  const load = async (document: ImportDocument): Promise<void> => {
    records ??= createAccountRecords(db, {
      // An issuer on localhost. The instances have other ports, which make no difference to the validation of clients.
      issuer: 'http://localhost:4000',
      isDevelopment: true,
      outboundAllowNetworks: ['127.0.0.0/8'],
      scopeBase,
      encryptionKeys: [Buffer.from(encryptionKey, 'base64')],
    });
    // Objects of a test come from another context of `vm`, and oidc-provider rejects them: it compares constructors.
    await importFile({ ...(await records), db }, structuredClone(document));
  };

  /** Starts an instance. The address of the first instance is the issuer of all instances. */
  const startInstance = async (
    issuer?: string,
    instanceEnvironment: Record<string, string> = {},
    limits: Partial<Lockout> = {},
  ) => {
    const { server, port, close: stopServer } = await serveHttp();
    const origin = `http://${host}:${port}`;
    const read = readAuthConfig({
      // Without NODE_ENV=test, a server with a public issuer would need a mail server or MAIL=off.
      NODE_ENV: 'test',
      DATABASE_URL: proxyUrl.href,
      ISSUER: issuer ?? origin,
      COOKIE_KEYS: 'test-cookie-key-of-32-characters-or-more',
      KEY_ENCRYPTION_KEY: encryptionKey,
      SCOPE_BASE: scopeBase,
      BOOKINGS_AUDIENCE: audience,
      DB_POOL_MAX: '8',
      ...environment,
      ...instanceEnvironment,
    });
    const config = { ...read, lockout: { ...lockout, slowDownMs: 0, ...limitsOfServer, ...limits } };
    const auth = await createApp({ config, logger, metrics: createMetrics('auth') });
    server.on('request', auth.app);
    const close = async (): Promise<void> => {
      await stopServer();
      await auth.close();
    };
    return { origin, auth, close };
  };

  await load(withCheapHashes(demoDocument(scopes)));
  const first = await startInstance();
  const others: { close: () => Promise<void> }[] = [];
  let closed = false;
  const closeAll = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    // A test may have closed another instance already. Closing it again may fail, which makes no difference here.
    for (const other of others) await other.close().catch(() => {});
    await first.close();
    await proxy.disconnect();
    await db.destroy();
    await database.drop();
  };
  /** Posts a form. A field with a list of values is sent once for each value. Redirects are not followed. */
  const post = (path: string, form: Form, headers: Record<string, string> = {}): Promise<Response> => {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(form))
      for (const entry of [value].flat()) body.append(name, String(entry));
    return fetch(first.origin + path, { method: 'POST', body, headers, redirect: 'manual' });
  };
  return {
    ...first,
    /** The connections of the test to the database of the service. `disconnectDatabase` does not interrupt them. */
    db,
    databaseUrl: database.url,
    /** The log lines, one JSON object each. */
    log: log as readonly string[],
    load,
    post,
    /** Posts a token request. Returns the status and the fields of the body. */
    token: async (form: Form, headers?: Record<string, string>) =>
      statusAndBody(await post('/connect/token', form, headers)),
    userinfo: (token: unknown) =>
      fetch(`${first.origin}/connect/userinfo`, { headers: { Authorization: `Bearer ${token}` } }),
    /** Starts another instance of the service on the same database. */
    startInstance: async (instanceEnvironment?: Record<string, string>, limits?: Partial<Lockout>) => {
      const other = await startInstance(first.origin, instanceEnvironment, limits);
      others.push(other);
      return other;
    },
    /** Closes the connections of the service to its database. New ones are refused until `reconnectDatabase`. */
    disconnectDatabase: proxy.disconnect,
    reconnectDatabase: proxy.reconnect,
    close: closeAll,
  };
}

/** Returns the status and the fields of the JSON body in one object, so that a test can compare both at once. */
export const statusAndBody = async (response: Response): Promise<Record<string, unknown>> => ({
  status: response.status,
  ...((await response.json()) as Record<string, unknown>),
});

/** Tests sign in many times. A hash with the parameters of the service would take 40 ms of a core each time. */
export const cheapHash = (password: string): string =>
  hashSync(password, { memoryCost: 8, timeCost: 1, parallelism: 1 });

const withCheapHashes = ({ accounts = [], ...others }: ImportDocument): ImportDocument => ({
  ...others,
  accounts: accounts.map(({ password = '', ...account }) => ({ ...account, passwordHash: cheapHash(password) })),
});
