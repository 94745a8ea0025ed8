// Starts the Bookings API and its peers, and compares their responses.
import { deepStrictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import type { TestIssuer } from '@bay-booking/testkit/issuer';
import type { Operation, Target } from './measure.ts';
import { type Child, startProgram, startService } from './processes.ts';

/** All targets have this base URL, so that their responses can be compared. */
export const baseUrl = 'http://bookings.bench.example';
export const scopeBase = 'https://bay-booking.example';
export const scope = `${scopeBase}/golf/bookings`;

export const startBookings = (name: string, release: string, databaseUrl: string, issuer: TestIssuer): Promise<Child> =>
  startService(name, release, 'bookings', () => ({
    DATABASE_URL: databaseUrl,
    BASE_URL: baseUrl,
    AUTH_ISSUER: issuer.url,
    AUTH_JWKS_URI: issuer.jwksUri,
    SCOPE_BASE: scopeBase,
    WEBHOOK_KEY: Buffer.alloc(32, 'bench').toString('base64'),
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  }));

/** The servers that handle the operations of `peerOperations` in other ways. */
export const peers = ['bare', 'fastify', 'express'];
export const peerOperations = ['get', 'search', 'upcoming', 'create', 'update'];

export const startPeer = (name: string, databaseUrl: string, { url, jwksUri }: TestIssuer): Promise<Child> =>
  startProgram(name, { databaseUrl, jwksUri, issuer: url, audience: baseUrl, scope, baseUrl });

/** Sends a request with a token, and returns the JSON of the response. */
export async function callApi<Body = { id: string }>(
  url: string,
  token: string,
  method = 'GET',
  body?: object,
): Promise<Body> {
  const response = await fetch(url, {
    method,
    headers: { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} returned ${response.status}: ${text.slice(0, 300)}`);
  return (text ? JSON.parse(text) : {}) as Body;
}

export interface BookingsTarget {
  readonly target: Target;
  readonly operations: Readonly<Record<string, Operation>>;
}

/**
 * Checks that all targets return the same body to the first request of an operation, if this is a GET request. The feed
 * is not compared, because its order is that in which the target numbered the changes.
 */
export async function compareResponses(name: string, targets: readonly BookingsTarget[]): Promise<void> {
  let expected: object | undefined;
  for (const { target, operations } of targets) {
    const { script, prepare } = operations[name] as Operation;
    if (script !== 'get.lua' || name === 'feed') return;
    const [token = '', file = ''] = await prepare(target, 1);
    const [path] = readFileSync(file, 'utf8').split('\n');
    const body = await callApi<{ items?: object[]; total?: number }>(target.url + path, token);
    // Left out: the time of the response, and links, whose query parameters may be in another order.
    const compared = body.items ? { items: body.items, total: body.total } : body;
    expected ??= compared;
    deepStrictEqual(compared, expected, `${target.name} returns another response to ${name}`);
  }
}
