// Signs assertions and DPoP proofs of the demo client that has a private key instead of a secret.
import { createPrivateKey, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import type { Client } from '../demo.ts';
import { authorizationParameters, type Demo, pkceOf } from './clients.ts';

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
export function assertionFields({ auth }: Demo, { client_id: id }: Client): Record<string, string> {
  const exp = Math.floor(Date.now() / 1000) + lifetimeSeconds;
  return {
    client_id: id,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: signJwt(id, { kid: readKey(id).kid }, { iss: id, sub: id, aud: auth, exp }),
  };
}

export function tokenProof({ auth }: Demo, { client_id: id }: Client): string {
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
