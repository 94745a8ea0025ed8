// Starts the parts of the system in order and records how to stop each part.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isPortFree } from '@bay-booking/postgres/ports';
import { findLauncher, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { findHistoryProblem } from '@bay-booking/service/database/migrate';
import { isLoopbackHost } from '@bay-booking/service/public-address';
import { startSocialProviders } from '@bay-booking/social-stand-ins/providers';
import { runToEnd, type Service, startService } from './children.ts';
import {
  prepareDataFolder,
  readSecrets,
  type Secrets,
  writeCommandEnvironment,
  writePrivately,
} from './data-folder.ts';
import { ensureDatabase, hasAccounts, roles, shareSecrets, withClient } from './databases.ts';
import { demoData, publishedPasswords, readDemo, reasonForNoDemo } from './demo.ts';
import { bookDay, loadPast } from './demo-day.ts';
import { createMails, type Mails } from './demo-page/pages.ts';
import { startDemoPage } from './demo-page/server.ts';
import { type AppName, type Environment, type Settings, serviceEnvironment } from './settings.ts';
import { bookingCommands } from './summary.ts';

export interface SystemOptions {
  settings: Settings;
  env: Environment;
  print: (line: string) => void;
  signal: AbortSignal;
  /** Stops the started parts, the last one first. */
  parts: AsyncDisposableStack;
}

/** @throws {Error} if a part cannot start, or if `signal` aborts. The caller must then stop the started parts. */
export async function startSystem(options: SystemOptions) {
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

  const server = databaseServerUrl ? externalServer(databaseServerUrl) : await embeddedServer(options);
  signal.throwIfAborted();
  const ownSecrets = readSecrets(dataDir, roles);
  const secrets = databaseServerUrl ? await shareSecrets(databaseServerUrl, ownSecrets) : ownSecrets;
  const standIns = settings.hasDemo && !settings.socialProvidersFile ? await startStandIns(options) : undefined;
  const socialProvidersFile = settings.socialProvidersFile ?? standIns?.file;

  if (!settings.hasDemo) print(`the demo is not loaded: ${reasonForNoDemo(settings)}`);
  else if (!isLoopbackHost(settings.host)) print(`WARNING: HOST is ${settings.host}, ${publishedPasswords}`);
  print('migrating the databases and starting the services');
  const appSettings = { ...settings, socialProvidersFile };
  const mails = createMails();
  const serverUrl = server.url;
  const services = await startApps({ ...options, settings: appSettings, serverUrl, secrets, onMail: mails.add });
  const demoPage = await serveDemoPage({ ...options, settings: appSettings }, mails, standIns?.origin);
  if (settings.hasDemo)
    // The rest of the demo works without these bookings.
    await bookDay(settings, new Date().toISOString(), signal).catch(({ message }) =>
      print(`the day of the demo is not complete: ${message}`),
    );
  return {
    databases: server.description,
    demoPage,
    standIns: standIns?.origin,
    /** Resolves with a message when a part of the system ends unexpectedly. */
    failed: Promise.race([server.ended, ...services.map(({ ended }) => ended)]),
  };
}

const wayToNewDatabase = ({ dataDir, databaseServerUrl }: Settings): string =>
  databaseServerUrl
    ? 'Use another DATABASE_SERVER_URL, or drop the databases auth and bookings'
    : `Set DATA_DIR to another folder, or delete ${dataDir} with all its data`;

const postgresFolder = ({ dataDir }: Settings) => join(dataDir, 'postgres');

const externalServer = (url: string) => ({
  url,
  description: `PostgreSQL at ${new URL(url).host}`,
  // The launcher does not watch an external server.
  ended: new Promise<string>(() => {}),
});

async function embeddedServer({ settings, print, parts }: SystemOptions) {
  print('starting PostgreSQL');
  const { url, port, dataPath, ended, stop } = await startEmbeddedPostgres({
    dataDir: postgresFolder(settings),
    port: settings.postgresPort,
    watchdog: true,
    onProgress: print,
  });
  parts.defer(stop);
  return {
    url,
    description: `PostgreSQL on port ${port}, files in ${dataPath}`,
    ended: ended.then(() => `PostgreSQL has ended; the end of its log is in ${dataPath}.log`),
  };
}

/** Returns the URL of the stand-ins and the path of a SOCIAL_PROVIDERS_FILE that configures auth to use them. */
async function startStandIns({ settings, parts }: SystemOptions) {
  const { origin, settings: providers, stop } = await startSocialProviders();
  parts.defer(stop);
  return { origin, file: writePrivately(settings.dataDir, 'social-providers.json', JSON.stringify(providers)) };
}

/** Returns the URL of the demo page. The rest of the demo works without this page. */
async function serveDemoPage({ settings, print, parts }: SystemOptions, mails: Mails, standIns: string | undefined) {
  const { demoPort: port, hasDemo, host, issuer, baseUrl, scopeBase, socialProvidersFile } = settings;
  if (port === undefined || !hasDemo || !socialProvidersFile) return undefined;
  const demo = {
    ...readDemo(settings),
    auth: issuer,
    bookings: baseUrl,
    socialNames: Object.keys(JSON.parse(readFileSync(socialProvidersFile, 'utf8'))),
    standIns,
    booking: bookingCommands(issuer, baseUrl, scopeBase),
  };
  try {
    const { stop } = await startDemoPage({ port, host, demo, mails });
    parts.defer(stop);
    return `http://localhost:${port}`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? `port ${port} is taken (choose another with DEMO_PORT)` : message;
    print(`the demo page is not served: ${reason}`);
    return undefined;
  }
}

interface AppOptions extends SystemOptions {
  serverUrl: string;
  secrets: Secrets;
  onMail: Mails['add'];
}

/** Starts both apps. If one of them fails, stops the commands of the other before the promise rejects. */
async function startApps(options: AppOptions): Promise<readonly Service[]> {
  const abort = new AbortController();
  const signal = AbortSignal.any([options.signal, abort.signal]);
  const auth = startApp('auth', { ...options, signal });
  // Bookings fetches the keys of auth when it starts, so auth must be ready first.
  const bookings = startApp('bookings', { ...options, signal }, auth);
  try {
    return await Promise.all([auth, bookings]);
  } catch (error) {
    abort.abort(error);
    await Promise.allSettled([auth, bookings]);
    throw error;
  }
}

/** Prepares an app's database, starts the service after `mayStart` and waits until the service is ready. */
async function startApp(app: AppName, options: AppOptions, mayStart?: Promise<unknown>): Promise<Service> {
  const { settings, env, print, signal, serverUrl, secrets, parts, onMail } = options;
  const urls = await ensureDatabase(serverUrl, app, secrets.passwords);
  const folder = join(settings.root, 'apps', app);
  const problem = await withClient(urls.owner, (client) => findHistoryProblem(client, join(folder, 'migrations')));
  if (problem) throw new Error(`${app}: ${problem}. ${wayToNewDatabase(settings)}`);
  const appEnv = serviceEnvironment(app, env, settings, secrets);
  const asOwner = { app, folder, env: { ...appEnv, DATABASE_URL: urls.owner }, print, signal, onMail };
  await runToEnd({ ...asOwner, args: ['src/commands/migrate.ts'] });
  // The demo is loaded first: its data must exist as soon as /health/ready returns 200.
  if (settings.hasDemo) {
    const loadDemo = async () => {
      await runToEnd({ ...asOwner, args: ['src/commands/import.ts', '-'], input: demoData(app, settings) });
      if (app === 'bookings') await loadPast(urls.owner, new Date().toISOString());
    };
    // The import fails, for example, if a facility of the demo was deleted. The services work without the demo.
    await loadDemo().catch(({ message }) => {
      signal.throwIfAborted();
      print(`the demo is not complete: ${message}. ${wayToNewDatabase(settings)}`);
    });
  } else if (app === 'auth' && (await hasAccounts(urls.owner, readDemo(settings).accounts)))
    throw new Error('the database contains the demo of an earlier start: use another DATA_DIR or DATABASE_SERVER_URL');
  await mayStart;
  signal.throwIfAborted();
  const serviceEnv = { ...appEnv, DATABASE_URL: urls.service };
  writeCommandEnvironment(settings.dataDir, `${app}.env`, serviceEnv);
  const service = startService({ app, folder, env: serviceEnv, print, onMail, watch: settings.watch });
  parts.defer(service.stop);
  const port = app === 'auth' ? settings.authPort : settings.bookingsPort;
  const endedEarly = service.ended.then((message) => Promise.reject(new Error(message)));
  await Promise.race([untilReady(settings.host, port, signal), endedEarly]);
  return service;
}

/** Services of a killed launcher may use the ports for a short time. */
const portLimitMs = 3_000;
const readyLimitMs = 60_000;

/** @throws {Error} with one line for each port that is still in use after the limit */
async function requireFreePorts(settings: Settings): Promise<void> {
  const deadline = Date.now() + portLimitMs;
  for (;;) {
    const errors: string[] = [];
    for (const { name, port } of settings.ports) {
      // On macOS, a program can listen on all interfaces while another program listens on loopback.
      const isFree = (await isPortFree(port)) && (await isPortFree(port, '127.0.0.1'));
      if (!isFree) errors.push(`port ${port} is taken: stop what listens there, or choose another with ${name}`);
    }
    if (errors.length === 0) return;
    if (Date.now() >= deadline) throw new Error(errors.join('\n'));
    await pause(100);
  }
}

/** @throws {Error} if `/health/ready` does not return 200 within a minute, or if the signal aborts */
async function untilReady(host: string, port: number, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + readyLimitMs;
  const url = `http://${reachableHost(host)}:${port}/health/ready`;
  while (Date.now() < deadline) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(readyLimitMs)]);
    const response = await fetch(url, { signal: limit }).catch(() => undefined);
    signal.throwIfAborted();
    await response?.body?.cancel();
    if (response?.ok) return;
    await pause(50);
  }
  throw new Error(`${url} is not 200 after ${readyLimitMs / 1000} s`);
}

/** Returns the host that this machine can use to reach a service that listens on `host`. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
