// Starts the parts of the system in order, and records how to stop each part. The launcher stops them in reverse order:
// services, stand-in social providers, PostgreSQL, and last the lock on DATA_DIR.
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { describeServices, runCommand, type Service, startService, stopOrphanedServices } from './children.ts';
import { lockDataFolder, readSecrets, writePrivately } from './data-folder.ts';
import { ensureDatabase, roles, shareSecrets } from './databases.ts';
import { demoData, reasonForNoDemo } from './demo.ts';
import { requireFreePorts, untilReady } from './ready.ts';
import { type AppName, appFolder, type Environment, type Settings, serviceEnvironment } from './settings.ts';
import { socialProviders } from './social.ts';

const SERVICES_FILE = 'services.pid';
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
  broken: Promise<string>;
}

/** What the launcher must stop. `startSystem` adds each part as soon as it has started. */
export interface Stops {
  /** Functions that each stop one part. They are called in reverse order, after the services have ended. */
  steps: (() => Promise<void>)[];
  services: Service[];
}

export async function startSystem({ settings, env, print, signal }: SystemOptions, stops: Stops): Promise<System> {
  const lock = lockDataFolder(settings.dataDir);
  stops.steps.push(async () => lock.release());
  if (lock.isAfterCrash) await stopOrphanedServices(join(settings.dataDir, SERVICES_FILE));
  await requireFreePorts(settings, lock.isAfterCrash ? PORT_WAIT_AFTER_CRASH_MS : 0);
  const ownSecrets = readSecrets(settings.dataDir, roles);

  const server = await databaseServer(settings, print, stops);
  signal.throwIfAborted();
  const secrets = settings.databaseServerUrl ? await shareSecrets(server.url, ownSecrets) : ownSecrets;
  const social = await socialProviders(settings);
  stops.steps.push(social.stop);
  const withProviders = { ...settings, socialProvidersFile: social.file };

  if (!settings.hasDemo) print(`the demo is not loaded: ${reasonForNoDemo(settings)}`);
  print('migrating the databases and starting the services');
  const abort = new AbortController();
  const authReady = Promise.withResolvers<void>();
  authReady.promise.catch(() => {});
  const startApp = async (app: AppName) => {
    const urls = await ensureDatabase(server.url, app, secrets.passwords);
    const folder = appFolder(settings, app);
    const appEnv = serviceEnvironment(app, env, withProviders, secrets);
    const commandSignal = AbortSignal.any([signal, abort.signal]);
    const asOwner = { app, folder, env: { ...appEnv, DATABASE_URL: urls.owner }, print, signal: commandSignal };
    await runCommand({ ...asOwner, args: ['src/commands/migrate.ts'] });
    // The demo is loaded before the service starts, so that its data exist as soon as /health/ready returns 200.
    if (settings.hasDemo)
      await runCommand({ ...asOwner, args: ['src/commands/import.ts', '-'], input: demoData(app, settings.scopeBase) });
    // Bookings fetches the keys of auth when it starts. If auth were not ready, bookings would log an error and wait
    // before the next attempt.
    if (app === 'bookings') await authReady.promise;
    commandSignal.throwIfAborted();
    const service = startService({
      app,
      folder,
      env: { ...appEnv, DATABASE_URL: urls.service },
      print,
      watch: settings.watch,
    });
    stops.services.push(service);
    writePrivately(settings.dataDir, SERVICES_FILE, describeServices(stops.services));
    const port = app === 'auth' ? settings.authPort : settings.bookingsPort;
    const ready = untilReady(settings.host, port, commandSignal);
    if (app === 'auth') ready.then(authReady.resolve, authReady.reject);
    const early = service.ended.then((what) => Promise.reject(new Error(what)));
    await Promise.race([ready, early]);
    early.catch(() => {});
  };
  const apps = (['auth', 'bookings'] as const).map(startApp);
  try {
    await Promise.all(apps);
  } catch (error) {
    authReady.reject(error);
    // The commands of the other app must have ended before the system stops.
    abort.abort(error);
    await Promise.allSettled(apps);
    throw error;
  }
  return {
    databases: server.where,
    broken: Promise.race([server.ended, ...stops.services.map(({ ended }) => ended)]),
  };
}

async function databaseServer(settings: Settings, print: (line: string) => void, stops: Stops) {
  if (settings.databaseServerUrl) {
    const { host } = new URL(settings.databaseServerUrl);
    return { url: settings.databaseServerUrl, where: `PostgreSQL at ${host}`, ended: new Promise<string>(() => {}) };
  }
  print('starting PostgreSQL');
  const server = await startEmbeddedPostgres({
    dataDir: join(settings.dataDir, 'postgres'),
    port: settings.postgresPort,
    watchdog: true,
    onProgress: print,
  });
  stops.steps.push(server.stop);
  return {
    url: server.url,
    where: `PostgreSQL on port ${server.port}, files in ${server.dataPath}`,
    ended: server.ended.then(() => `PostgreSQL has ended; the end of its log is in ${server.dataPath}.log`),
  };
}
