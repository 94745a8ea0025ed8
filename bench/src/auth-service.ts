// Starts the authorization server for a measurement. As in production, environment variables configure the server, and
// its accounts and clients are imported. This file also obtains refresh tokens: it signs in on the pages and runs the
// code flow.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@bay-booking/postgres/ports';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { baseUrl, scope, scopeBase, thisRelease } from './bookings-service.ts';
import { type Child, startChild } from './child.ts';

/** Nothing listens at this address. The test browser does not follow a redirect to it, and returns the address. */
const callback = 'http://localhost:4010/callback';

export const serviceClient = { id: 'bench-pat', secret: 'bench-pat-secret-0123456789' };
export const web = { id: 'bench-web', secret: 'bench-web-secret-0123456789' };
export const native = { id: 'bench-native' };
export const user = { username: 'bench@bench.example', password: 'a password for the bench' };

/** The import file of auth. */
const importDocument = {
  facilities: [{ id: 'fac-bench', name: 'Bench Range' }],
  accounts: [
    {
      id: 'acc-bench',
      ...user,
      name: 'Bench',
      email: user.username,
      emailVerified: true,
      memberships: [{ facilityId: 'fac-bench', role: 'owner' }],
    },
    {
      id: 'acc-bench-service',
      username: 'bot@bench.example',
      password: 'a password for the bot',
      kind: 'service',
      memberships: [{ facilityId: 'fac-bench', role: 'bookings-manager' }],
    },
  ],
  clients: [
    { client_id: serviceClient.id, client_secret: serviceClient.secret, accountId: 'acc-bench-service', name: 'Bench' },
    {
      client_id: web.id,
      client_secret: web.secret,
      token_endpoint_auth_method: 'client_secret_post',
      redirect_uris: [callback],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      // The benchmark runs the code flow of this client without PKCE.
      pkce: 'optional',
      // The other measured servers also sign with ES256. RSA would take longer than all other work of a refresh.
      id_token_signed_response_alg: 'ES256',
      scope: `openid offline_access ${scope}`,
    },
    // The benchmark measures the password grant with this client.
    {
      client_id: native.id,
      token_endpoint_auth_method: 'none',
      redirect_uris: ['com.example.bench:/callback'],
      grant_types: ['authorization_code', 'password'],
      response_types: ['code'],
      pkce: 'optional',
      scope,
    },
  ],
};

export async function startAuth(options: {
  databaseUrl: string;
  folder: string;
  /** The CPU core on which the server runs. Undefined stands for any core. */
  core: number | undefined;
  /** The folder of another release. Default: this repository. */
  release?: string | undefined;
  nodeFlags?: readonly string[];
}): Promise<Child> {
  const { databaseUrl, folder, core, release = thisRelease, nodeFlags = [] } = options;
  const authFolder = join(release, 'apps/auth');
  const port = await freePort();
  const env = {
    DATABASE_URL: databaseUrl,
    ISSUER: `http://127.0.0.1:${port}`,
    PORT: String(port),
    COOKIE_KEYS: randomBytes(24).toString('hex'),
    KEY_ENCRYPTION_KEY: Buffer.alloc(32, 'bench').toString('base64'),
    SCOPE_BASE: scopeBase,
    BOOKINGS_AUDIENCE: baseUrl,
    MAIL: 'off',
  };
  const file = join(folder, 'auth.json');
  writeFileSync(file, JSON.stringify(importDocument));
  await runCommand(authFolder, ['src/commands/migrate.ts'], env);
  await runCommand(authFolder, ['src/commands/import.ts', file], env);
  return startChild({
    name: 'auth',
    // `startChild` runs the script `start` of this package.json.
    script: join(authFolder, 'package.json'),
    cwd: authFolder,
    env,
    core,
    port,
    readyPath: '/health/ready',
    nodeFlags,
  });
}

async function runCommand(cwd: string, args: readonly string[], env: Record<string, string>): Promise<void> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 60_000,
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${args[0]} exited with code ${code}`);
}

/** Signs in once, and then runs the code flow once for each refresh token. */
export async function obtainRefreshTokens(origin: string, tokenCount: number): Promise<string[]> {
  const browser = openFormBrowser([origin]);
  const request = {
    response_type: 'code',
    client_id: web.id,
    redirect_uri: callback,
    scope: `openid offline_access ${scope}`,
    // OpenID Connect requires this parameter for `offline_access`.
    prompt: 'consent',
  };
  const tokens: string[] = [];
  while (tokens.length < tokenCount) {
    let page = await browser.open(`${origin}/connect/authorize?${new URLSearchParams(request)}`);
    if (page.title.startsWith('Sign in')) page = await browser.send(page, user);
    if (page.title.startsWith('Allow')) page = await browser.send(page, {}, { name: 'decision', value: 'allow' });
    const code = page.url.searchParams.get('code');
    if (!code) throw new Error(`the code flow ended without a code, on the page "${page.title}" at ${page.url}`);
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      client_id: web.id,
      client_secret: web.secret,
    };
    const response = await fetch(`${origin}/connect/token`, { method: 'POST', body: new URLSearchParams(form) });
    const body = (await response.json()) as { refresh_token?: string };
    if (!body.refresh_token) throw new Error(`the response has no refresh token: ${JSON.stringify(body)}`);
    tokens.push(body.refresh_token);
  }
  return tokens;
}
