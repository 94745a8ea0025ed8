// Starts the authorization server and its peer, and prepares the requests to their token endpoints.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { baseUrl, scope, scopeBase } from './bookings.ts';
import { connections, type Operation, type Target } from './measure.ts';
import { type Child, runCommand, startProgram, startService } from './processes.ts';

export const tokenPeer = 'oidc-provider-postgres';
/** More tokens than connections, because a failed request returns no new token. */
const tokensPerRound = 4 * connections;
/** The file that the command `import` reads. The constants below repeat parts of it. */
const importFile = fileURLToPath(new URL('../auth.json', import.meta.url));
/** Nothing listens here. The test browser does not follow a redirect to this address, and returns it. */
const callback = 'http://localhost:4010/callback';
const machine = { client_id: 'bench-machine', client_secret: 'bench-machine-secret-0123456789' };
/** Its id_tokens are signed with ES256, like those of the peer. RSA would take longer than the rest of a refresh. */
const web = { client_id: 'bench-web', client_secret: 'bench-web-secret-0123456789' };
const user = { username: 'bench@bench.example', password: 'a password for the bench' };

export async function startAuth(name: string, release: string, databaseUrl: string): Promise<Child> {
  const environment = (port: number) => ({
    DATABASE_URL: databaseUrl,
    ISSUER: `http://127.0.0.1:${port}`,
    COOKIE_KEYS: randomBytes(24).toString('hex'),
    KEY_ENCRYPTION_KEY: Buffer.alloc(32, 'bench').toString('base64'),
    SCOPE_BASE: scopeBase,
    BOOKINGS_AUDIENCE: baseUrl,
    MAIL: 'off',
  });
  // The commands do not use the port.
  await runCommand(release, 'auth', 'migrate', [], environment(1));
  await runCommand(release, 'auth', 'import', [importFile], environment(1));
  return startService(name, release, 'auth', environment);
}

export function startTokenPeer(databaseUrl: string): Promise<Child> {
  return startProgram(tokenPeer, { databaseUrl, ...machine, scope, audience: baseUrl, redirectUri: callback });
}

const pathOf = ({ name }: Target): string => (name === tokenPeer ? '/token' : '/connect/token');
const form = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();
const clientCredentials = form({ grant_type: 'client_credentials', ...machine, scope });

const writeLines = (file: string, lines: readonly string[]): string => {
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
};

export const tokenOperations = (folder: string): Readonly<Record<string, Operation>> => ({
  token: {
    script: 'form.lua',
    prepare: (target) => [pathOf(target), writeLines(join(folder, 'token'), [clientCredentials])],
  },
  // Every round begins with new refresh tokens: at the end of a round, wrk drops responses, and with them the tokens
  // that follow.
  refresh: {
    script: 'refresh.lua',
    prepare: async (target) => {
      const isPeer = target.name === tokenPeer;
      const tokens = isPeer ? await fetchRefreshTokens(target.url) : await obtainRefreshTokens(target.url);
      return [pathOf(target), writeLines(join(folder, 'refresh-tokens'), tokens), form(isPeer ? machine : web)];
    },
  },
});

const fetchRefreshTokens = async (origin: string): Promise<string[]> =>
  (await (await fetch(`${origin}/refresh-tokens?count=${tokensPerRound}`)).json()) as string[];

/** One browser signs in once, and then requests the codes one after another. */
async function obtainRefreshTokens(origin: string): Promise<string[]> {
  const request = form({
    response_type: 'code',
    client_id: web.client_id,
    redirect_uri: callback,
    scope: `openid offline_access ${scope}`,
    // OpenID Connect requires the prompt for `offline_access`.
    prompt: 'consent',
  });
  const browser = openFormBrowser([origin]);
  const tokens: string[] = [];
  while (tokens.length < tokensPerRound) {
    let page = await browser.open(`${origin}/connect/authorize?${request}`);
    if (page.title.startsWith('Sign in')) page = await browser.send(page, user);
    if (page.title.startsWith('Allow')) page = await browser.send(page, {}, { name: 'decision', value: 'allow' });
    const code = page.url.searchParams.get('code') ?? '';
    const fields = { grant_type: 'authorization_code', code, redirect_uri: callback, ...web };
    const response = await fetch(`${origin}/connect/token`, { method: 'POST', body: new URLSearchParams(fields) });
    const body = (await response.json()) as { refresh_token?: string };
    if (!body.refresh_token) throw new Error(`the code flow returned no refresh token: ${JSON.stringify(body)}`);
    tokens.push(body.refresh_token);
  }
  return tokens;
}
