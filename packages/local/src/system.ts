// Starts the parts of the system in order, and records how to stop each part.
import { join } from 'node:path';
import { findLauncher, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { startSocialProviders } from '@bay-booking/social-stand-ins/providers';
import { runCommand, type Service, startService } from './children.ts';
import { prepareDataFolder, readSecrets, type Secrets, writePrivately } from './data-folder.ts';
import { ensureDatabase, roles, shareSecrets } from './databases.ts';
import { demoData, reasonForNoDemo } from './demo.ts';
import { requireFreePorts, untilReady } from './ready.ts';
import { type AppName, type Environment, type Settings, serviceEnvironment } from './settings.ts';

export interface SystemOptions {
  settings: Settings;
  env: Environment;
  print: (line: string) => void;
  signal: AbortSignal;
}

/** The parts of the system that the launcher must stop. `startSystem` adds each part as soon as it has started. */
export interface StartedParts {
  services: Service[];
  /** Called in reverse order, after the services have ended. */
  stopFunctions: (() => Promise<void>)[];
}

/** @throws {Error} if a part cannot be started, or if `signal` aborts. The caller must then stop the started parts. */
export async function startSystem(options: SystemOptions, parts: StartedParts) {
  const { settings, print, signal } = options;
  const { dataDir, databaseServerUrl } = settings;
  prepareDataFolder(dataDir);
  const launcher = databaseServerUrl ? undefined : findLauncher(postgresFolder(settings));
  if (launcher) {
    throw new Error(
      `npm start is already running: process ${launcher} uses ${dataDir}. Set DATA_DIR to run a second system`,
    );
  }
  await requireFreePorts(settings);

  const server = databaseServerUrl ? externalServer(databaseServerUrl) : await embeddedServer(options, parts);
  signal.throwIfAborted();
  const ownSecrets = readSecrets(dataDir, roles);
  const secrets = databaseServerUrl ? await shareSecrets(databaseServerUrl, ownSecrets) : ownSecrets;
  const socialProvidersFile = settings.socialProvidersFile ?? (await startSocialStandIns(settings, parts));

  if (!settings.hasDemo) print(`the demo is not loaded: ${reasonForNoDemo(settings)}`);
  print('migrating the databases and starting the services');
  const appSettings = { ...settings, socialProvidersFile };
  await startApps({ ...options, settings: appSettings, serverUrl: server.url, secrets, parts });
  return {
    databases: server.description,
    /** Resolves with a message when a part of the system has ended unexpectedly. */
    failed: Promise.race([server.ended, ...parts.services.map(({ ended }) => ended)]),
  };
}

const postgresFolder = ({ dataDir }: Settings) => join(dataDir, 'postgres');

const externalServer = (url: string) => ({
  url,
  description: `PostgreSQL at ${new URL(url).host}`,
  // Never resolves, because the launcher does not watch an external server.
  ended: new Promise<string>(() => {}),
});

async function embeddedServer({ settings, print }: SystemOptions, parts: StartedParts) {
  print('starting PostgreSQL');
  const { url, port, dataPath, ended, stop } = await startEmbeddedPostgres({
    dataDir: postgresFolder(settings),
    port: settings.postgresPort,
    watchdog: true,
    onProgress: print,
  });
  parts.stopFunctions.push(stop);
  return {
    url,
    description: `PostgreSQL on port ${port}, files in ${dataPath}`,
    ended: ended.then(() => `PostgreSQL has ended; the end of its log is in ${dataPath}.log`),
  };
}

/** Returns the path of the SOCIAL_PROVIDERS_FILE with which auth uses the stand-ins. */
async function startSocialStandIns(settings: Settings, parts: StartedParts): Promise<string | undefined> {
  if (!settings.hasDemo) return undefined;
  const standIns = await startSocialProviders();
  parts.stopFunctions.push(standIns.stop);
  return writePrivately(settings.dataDir, 'social-providers.json', JSON.stringify(standIns.settings));
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
  const bookings = startApp('bookings', { ...options, signal }, auth);
  try {
    await Promise.all([auth, bookings]);
  } catch (error) {
    abort.abort(error);
    await Promise.allSettled([auth, bookings]);
    throw error;
  }
}

/** Prepares the database of an app, starts its service after `mayStart`, and waits until the service is ready. */
async function startApp(app: AppName, options: AppOptions, mayStart?: Promise<void>): Promise<void> {
  const { settings, env, print, signal, serverUrl, secrets, parts } = options;
  const urls = await ensureDatabase(serverUrl, app, secrets.passwords);
  const folder = join(settings.root, 'apps', app);
  const appEnv = serviceEnvironment(app, env, settings, secrets);
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
  const port = app === 'auth' ? settings.authPort : settings.bookingsPort;
  const endedEarly = service.ended.then((message) => Promise.reject(new Error(message)));
  await Promise.race([untilReady(settings.host, port, signal), endedEarly]);
}
