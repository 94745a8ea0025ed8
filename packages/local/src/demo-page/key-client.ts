// Signs assertions and DPoP proofs of the demo client that has a private key instead of a secret.
import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorizationParameters, type Client, type Demo, pkceOf } from './clients.ts';

const lifetimeSeconds = 300;
const timeLimitMs = 5_000;

const readKey = (clientId: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../demo', `${clientId}.jwk.json`), 'utf8'));

function signJwt(clientId: string, header: object, claims: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg: 'ES256', ...header })}.${encode({ jti: randomUUID(), ...claims })}`;
  const key = createPrivateKey({ key: readKey(clientId), format: 'jwk' });
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

const now = () => Math.floor(Date.now() / 1000);

/** Auth accepts each assertion only once. */
export function assertionFields({ auth }: Demo, { client_id: id }: Client): Record<string, string> {
  const claims = { iss: id, sub: id, aud: auth, iat: now(), exp: now() + lifetimeSeconds };
  return {
    client_id: id,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: signJwt(id, { kid: readKey(id).kid }, claims),
  };
}

export function tokenProof({ auth }: Demo, { client_id: id }: Client): string {
  const { kty, crv, x, y } = readKey(id);
  const claims = { htm: 'POST', htu: `${auth}/connect/token`, iat: now() };
  return signJwt(id, { typ: 'dpop+jwt', jwk: { kty, crv, x, y } }, claims);
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
