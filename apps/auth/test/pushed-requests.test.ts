// Tests how much a pushed authorization request stores, and how many can be pushed (RFC 9126).
import { randomBytes } from 'node:crypto';
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { basic, scopes, startAuthServer } from './auth-server.ts';
import { openBrowser, pkce, player, redirectParameters, signInAndConsent, webCallback } from './flows.ts';

const server = useFixture(() => startAuthServer({ TRUST_PROXY: 'true' }));
const request = { response_type: 'code', scope: `openid ${scopes.play}`, ...pkce.challenge };
const publicRequest = { ...request, client_id: 'demo-spa', redirect_uri: 'http://localhost:4010/spa' };
const webRequest = { ...request, client_id: 'demo-web', redirect_uri: webCallback };
const demoWeb = basic('demo-web', 'demo-web-secret');

const push = (form: Record<string, string>, headers: Record<string, string>, origin = server.origin) =>
  fetch(`${origin}/connect/par`, { method: 'POST', body: new URLSearchParams(form), headers });
const fromAddress = (address: string) => ({ 'X-Forwarded-For': address });

/** Pushes `count` requests, a few at the same time, alternately to each instance. Returns the responses. */
async function pushMany(count: number, send: (n: number) => Promise<Response>): Promise<Response[]> {
  const responses: Response[] = [];
  while (responses.length < count) {
    responses.push(...(await Promise.all(Array.from({ length: 20 }, (_, n) => send(n)))));
  }
  return responses;
}

const storedBytes = async (): Promise<number> => {
  const { rows } = await server.db.raw(
    `select coalesce(sum(pg_column_size(a.*)), 0)::int as bytes from oidc_artifact a
      where model = 'PushedAuthorizationRequest'`,
  );
  return rows[0].bytes;
};

test('a request of 15 kB stores at most 2 kB more than itself, nothing in the audit trail, and works', async () => {
  const state = randomBytes(11_000).toString('base64url');
  const before = await storedBytes();
  const events = () => server.db('audit_event').select('kind').orderBy('id');
  await server.auth.waitUntilIdle();
  const eventsBefore = await events();
  const response = await push({ ...webRequest, state }, demoWeb);
  expect(response.status).toBe(201);
  const { request_uri } = (await response.json()) as { request_uri: string };
  expect((await storedBytes()) - before).toBeLessThan(state.length + 2_000);
  expect((await push({ ...webRequest, redirect_uri: 'https://evil.example' }, demoWeb)).status).toBe(400);
  expect((await push(webRequest, basic('demo-web', 'wrong'))).status).toBe(401);
  await server.auth.waitUntilIdle();
  expect(await events()).toEqual(eventsBefore);

  const browser = openBrowser(server);
  const query = new URLSearchParams({ client_id: 'demo-web', request_uri });
  const page = await browser.open(`${server.origin}/connect/authorize?${query}`);
  expect(redirectParameters(await signInAndConsent(browser, page, player))).toMatchObject({ state });
});

test('above 300 requests a minute, an address gets 429 for public clients, over all instances', async () => {
  const { origin } = await server.startInstance();
  const responses = await pushMany(320, (n) =>
    push(publicRequest, fromAddress('192.0.2.1'), n % 2 === 0 ? server.origin : origin),
  );
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(300);
  const [refused] = responses.filter(({ status }) => status === 429);
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused?.json()).toMatchObject({ error: 'invalid_request' });
  expect((await push(publicRequest, fromAddress('192.0.2.2'))).status).toBe(201);
  expect((await push(webRequest, { ...demoWeb, ...fromAddress('192.0.2.1') })).status).toBe(201);
});

test('above 1000 requests a minute, a client gets 429 whatever its address', async () => {
  await push(webRequest, demoWeb);
  await server.db('guard_count').where('key', 'like', 'push-client%').update({ points: 999 });
  const send = (n: number) => push(webRequest, { ...demoWeb, ...fromAddress(`192.0.2.${n}`) });
  const responses = await pushMany(20, send);
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(19);
});
