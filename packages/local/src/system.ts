// Starts the parts of the system in order, and records how to stop each part. The launcher stops them in reverse order:
// services, stand-in social providers, PostgreSQL. Finally, it releases the lock on DATA_DIR.
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { describeServices, runCommand, type Service, startService, stopOrphanedServices } from './children.ts';
import { lockDataFolder, readSecrets, type Secrets, writePrivately } from './data-folder.ts';
import { ensureDatabase, roles, shareSecrets } from './databases.ts';
import { demoData, reasonForNoDemo } from './demo.ts';
import { requireFreePorts, untilReady } from './ready.ts';
import { type AppName, appFolder, type Environment, type Settings, serviceEnvironment } from './settings.ts';
import { startSocialStandIns } from './social.ts';

/** The file in DATA_DIR that lists the processes of the services. After a crash, the next launcher stops them. */
const SERVICES_FILE = 'services.pid';
/** How long to wait for ports that the services of a killed launcher may still use. */
const PORT_WAIT_AFTER_CRASH_MS = 10_000;

export interface SystemOptions {
  settings: Settings;
  env: Environment;
  print: (line: string) => void;
  signal: AbortSignal;
}

export interface System {
  /** Describes where the databases are, for the printed summary. */
  databases: string;
  /** Resolves with a message when a part of the system has ended unexpectedly. */
  failed: Promise<string>;
}

/** The parts of the system that the launcher must stop. `startSystem` adds each part as soon as it has started. */
export interface StartedParts {
  services: Service[];
  /**
   * Each function stops one of the other parts. The functions are called in reverse order, after the services have
   * ended.
   */
  stopFunctions: (() => Promise<void>)[];
}

/**
 * @throws {Error} if a part cannot be started, or if `signal` is aborted. The launcher must then stop the started
 * parts.
 */
export async function startSystem(options: SystemOptions, parts: StartedParts): Promise<System> {
  const { settings, print, signal } = options;
  const lock = lockDataFolder(settings.dataDir);
  parts.stopFunctions.push(async () => lock.release());
  if (lock.isAfterCrash) await stopOrphanedServices(join(settings.dataDir, SERVICES_FILE));
  await requireFreePorts(settings, lock.isAfterCrash ? PORT_WAIT_AFTER_CRASH_MS : 0);
  const ownSecrets = readSecrets(settings.dataDir, roles);

  const server = await databaseServer(settings, print, parts);
  signal.throwIfAborted();
  // All launchers that use the same external server need the same secrets.
  const secrets = settings.databaseServerUrl ? await shareSecrets(server.url, ownSecrets) : ownSecrets;
  const social = await startSocialStandIns(settings);
  parts.stopFunctions.push(social.stop);
  const settingsWithProviders = { ...settings, socialProvidersFile: social.file };

  if (!settings.hasDemo) print(`the demo is not loaded: ${reasonForNoDemo(settings)}`);
  print('migrating the databases and starting the services');
  await startApps({ ...options, settings: settingsWithProviders, serverUrl: server.url, secrets, parts });
  return {
    databases: server.description,
    failed: Promise.race([server.ended, ...parts.services.map(({ ended }) => ended)]),
  };
}

interface AppOptions extends SystemOptions {
  serverUrl: string;
  secrets: Secrets;
  parts: StartedParts;
}

/** Starts both apps. If one of them fails, ends the commands of the other app before the promise rejects. */
async function startApps(options: AppOptions): Promise<void> {
  const abort = new AbortController();
  const signal = AbortSignal.any([options.signal, abort.signal]);
  const auth = startApp('auth', { ...options, signal });
  // The service bookings is started only when auth is ready, because it fetches the keys of auth when it starts.
  // Without the keys, it would log an error and wait before the next attempt.
  const bookings = startApp('bookings', { ...options, signal }, auth);
  try {
    await Promise.all([auth, bookings]);
  } catch (error) {
    abort.abort(error);
    await Promise.allSettled([auth, bookings]);
    throw error;
  }
}

/**
 * Prepares the database of an app, starts its service, and waits until the service is ready. The service is started
 * only after `mayStart` has resolved.
 */
async function startApp(app: AppName, options: AppOptions, mayStart?: Promise<void>): Promise<void> {
  const { settings, env, print, signal, serverUrl, secrets, parts } = options;
  const urls = await ensureDatabase(serverUrl, app, secrets.passwords);
  const folder = appFolder(settings, app);
  const appEnv = serviceEnvironment(app, env, settings, secrets);
  // The role of the owner may change the schema. The role of the service may only read and change rows.
  const asOwner = { app, folder, env: { ...appEnv, DATABASE_URL: urls.owner }, print, signal };
  await runCommand({ ...asOwner, args: ['src/commands/migrate.ts'] });
  // The demo is loaded before the service starts, so that its data exist as soon as /health/ready returns 200.
  if (settings.hasDemo)
    await runCommand({ ...asOwner, args: ['src/commands/import.ts', '-'], input: demoData(app, settings.scopeBase) });
  await mayStart;
  signal.throwIfAborted();
  const serviceEnv = { ...appEnv, DATABASE_URL: urls.service };
  const service = startService({ app, folder, env: serviceEnv, print, watch: settings.watch });
  parts.services.push(service);
  writePrivately(settings.dataDir, SERVICES_FILE, describeServices(parts.services));
  const port = app === 'auth' ? settings.authPort : settings.bookingsPort;
  const endedEarly = service.ended.then((message) => Promise.reject(new Error(message)));
  await Promise.race([untilReady(settings.host, port, signal), endedEarly]);
}

/** Returns the server of DATABASE_SERVER_URL, or starts the embedded server. */
async function databaseServer(settings: Settings, print: (line: string) => void, parts: StartedParts) {
  if (settings.databaseServerUrl) {
    const { host } = new URL(settings.databaseServerUrl);
    return {
      url: settings.databaseServerUrl,
      description: `PostgreSQL at ${host}`,
      // Never resolves, because the launcher does not watch an external server.
      ended: new Promise<string>(() => {}),
    };
  }
  print('starting PostgreSQL');
  const server = await startEmbeddedPostgres({
    dataDir: join(settings.dataDir, 'postgres'),
    port: settings.postgresPort,
    watchdog: true,
    onProgress: print,
  });
  parts.stopFunctions.push(server.stop);
  return {
    url: server.url,
    description: `PostgreSQL on port ${server.port}, files in ${server.dataPath}`,
    ended: server.ended.then(() => `PostgreSQL has ended; the end of its log is in ${server.dataPath}.log`),
  };
}
