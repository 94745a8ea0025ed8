// Builds the requests of the demo's clients, as curl commands and as requests of the demo page.
import { createPrivateKey, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import type { Client } from '../demo.ts';
import {
  authorizationParameters,
  codeVerifier,
  customScopes,
  type Demo,
  deviceGrant,
  pkceOf,
  requiresPkce,
} from './clients.ts';

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Values with special characters need `--data-urlencode`. A value such as `$SOCIAL` is a shell variable. */
function fieldOf([name, value]: [string, string]): string {
  if (/^[\w.~:/-]*$/.test(value)) return `-d ${name}=${value}`;
  return `--data-urlencode ${value.startsWith('$') ? `"${name}=${value}"` : quote(`${name}=${value}`)}`;
}

function tokenCommand(demo: Demo, client: Client, fields: Record<string, string>): string {
  const { client_id: id, client_secret: secret } = client;
  const lines = [`curl -sS ${demo.auth}/connect/token`];
  if (client.profile) lines.push(`-H ${quote(`DPoP: ${tokenProof(demo, client)}`)}`);
  if (secret) lines.push(`-u ${id}:${secret}`);
  const own = client.profile ? assertionFields(demo, client) : secret ? {} : { client_id: id };
  lines.push(...Object.entries({ ...fields, ...own }).map(fieldOf));
  return `${lines.join(' \\\n  ')}; echo`;
}

export const exchangeCode = (demo: Demo, client: Client, code: string, redirectUri: string): string =>
  tokenCommand(demo, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    ...(requiresPkce(client) && { code_verifier: codeVerifier }),
  });

export const pollDevice = (demo: Demo, client: Client, deviceCode: string): string =>
  tokenCommand(demo, client, { grant_type: deviceGrant, device_code: deviceCode });

export const refresh = (demo: Demo, client: Client): string =>
  tokenCommand(demo, client, { grant_type: 'refresh_token', refresh_token: 'REFRESH_TOKEN' });

export const listLocations = ({ bookings }: Demo, token: string): string =>
  `curl -sS ${bookings}/api/booking-locations -H 'Authorization: Bearer ${token}'; echo`;

/** Builds the commands of flows that need no browser. */
export function commandsOf(demo: Demo, client: Client) {
  const scope = customScopes(client).join(' ');
  const player = demo.accounts.find(({ username }) => username.startsWith('player@'));
  const texts: Record<string, () => readonly string[]> = {
    client_credentials: () => [tokenCommand(demo, client, { grant_type: 'client_credentials', scope })],
    password: () => {
      const { username = '', password = '' } = player ?? {};
      return [tokenCommand(demo, client, { grant_type: 'password', username, password, scope })];
    },
    social_access_token: () =>
      demo.socialNames.map((provider) => {
        const token = { provider, token: '$SOCIAL', scope: `offline_access ${scope}` };
        return (
          socialToken(demo, provider) + tokenCommand(demo, client, { grant_type: 'social_access_token', ...token })
        );
      }),
  };
  return client.grant_types.flatMap((grant) =>
    (texts[grant]?.() ?? []).map((text) => ({ title: `${client.client_id}: ${grant}`, text })),
  );
}

/** Builds a command that stores the provider's access token in a shell variable. */
const socialToken = ({ standIns }: Demo, provider: string) =>
  standIns
    ? `SOCIAL=$(curl -sS '${standIns}/${provider}/native-token?user=100001' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')\n`
    : `SOCIAL=ACCESS_TOKEN_OF_${provider.toUpperCase()}\n`;

// The client that has a private key instead of a secret signs assertions and DPoP proofs.
const lifetimeSeconds = 300;
const timeLimitMs = 5_000;

const readKey = (clientId: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../demo', `${clientId}.jwk.json`), 'utf8'));

const signJwt = (clientId: string, header: object, claims: object): string =>
  jwt.sign({ jti: randomUUID(), ...claims }, createPrivateKey({ key: readKey(clientId), format: 'jwk' }), {
    algorithm: 'ES256',
    header: { alg: 'ES256', ...header },
  });

/** Auth accepts each assertion only once. */
function assertionFields({ auth }: Demo, { client_id: id }: Client): Record<string, string> {
  const exp = Math.floor(Date.now() / 1000) + lifetimeSeconds;
  return {
    client_id: id,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: signJwt(id, { kid: readKey(id).kid }, { iss: id, sub: id, aud: auth, exp }),
  };
}

function tokenProof({ auth }: Demo, { client_id: id }: Client): string {
  const { kty, crv, x, y } = readKey(id);
  const header = { typ: 'dpop+jwt', jwk: { kty, crv, x, y } };
  return signJwt(id, header, { htm: 'POST', htu: `${auth}/connect/token` });
}

/** Sends the parameters to auth and returns the URL for the browser (RFC 9126). */
export async function pushRequest(demo: Demo, client: Client): Promise<string> {
  const parameters = authorizationParameters(client, { ...pkceOf(client), ...assertionFields(demo, client) });
  const { request_uri } = await postForm<{ request_uri: string }>(`${demo.auth}/connect/par`, parameters);
  return `${demo.auth}/connect/authorize?${new URLSearchParams({ client_id: client.client_id, request_uri })}`;
}

/** @throws {Error} with the body of the response, unless it is successful */
export async function postForm<T>(url: string, body: URLSearchParams): Promise<T> {
  const response = await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(timeLimitMs) });
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
