// Tests how a device gets its codes and polls for its tokens, and the audit events of that (docs/behaviour-auth.md,
// "Device sign-in"; RFC 8628 sections 3.2, 3.4 and 3.5).
import { useFixture } from '@bay-booking/testkit/fixture';
import { clients } from '@bay-booking/testkit/rounds';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { audience, basic, passSecondAfterUse, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { createDevice, type DeviceAuthorization, deviceCodeGrant, screen, screenScope } from './device-fixture.ts';
import { allow, deny, owner } from './flows.ts';
import { createKeyClient, type KeyClient } from './key-client.ts';

const server = useFixture(() => startAuthServer());
const device = createDevice(server);
const pending = { status: 400, error: 'authorization_pending' };
const slowDown = { status: 400, error: 'slow_down' };
const denied = { status: 400, error: 'access_denied' };
const invalidGrant = { status: 400, error: 'invalid_grant' };
const standardClient = { client_id: 'device-standard' };

let keyClient: KeyClient;
/** Another instance. */
let other: { readonly origin: string };
/** Polls many times at once, alternately at the two instances. */
const pollAtBoth = (codes: DeviceAuthorization) =>
  Promise.all(Array.from({ length: clients(32) }, (_, n) => device.poll(codes, n % 2 ? { at: other.origin } : {})));

beforeAll(async () => {
  other = await server.startInstance();
  keyClient = await createKeyClient('device-keys', server.origin);
  const client = { grant_types: [deviceCodeGrant, 'refresh_token'], scope: scopes.all.join(' ') };
  await server.load({
    clients: [
      // An imported client with neither a secret nor another authentication method is public.
      { ...client, ...standardClient },
      { ...client, client_id: 'device-secret', client_secret: 'device-secret-secret' },
      { ...client, client_id: 'device-dpop', dpop_bound_access_tokens: true },
      {
        ...client,
        client_id: 'device-keys',
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [keyClient.publicJwk] },
      },
    ],
  });
});

describe('before the decision of the user', () => {
  test('each poll within the interval gets slow_down, and the interval grows by 5 s', async () => {
    const codes = await device.start();
    expect(await device.poll(codes)).toMatchObject(pending);
    // The interval is 5 s, and grows to 10, 15 and 20 s with the next three polls, which come too early.
    expect(await device.poll(codes)).toMatchObject(slowDown);
    await device.passTime(6);
    expect(await device.poll(codes)).toMatchObject(slowDown);
    await device.passTime(11);
    expect(await device.poll(codes)).toMatchObject(slowDown);
    await device.passTime(20);
    expect(await device.poll(codes)).toMatchObject(pending);
    // The last poll was not too early, so the interval stays 20 s.
    await device.passTime(16);
    expect(await device.poll(codes)).toMatchObject(slowDown);
  });

  test('of simultaneous polls, one gets authorization_pending and the others slow_down', async () => {
    const codes = await device.start();
    const polls = await pollAtBoth(codes);
    const errors = polls.map(({ error }) => error);
    expect(errors.filter((error) => error === 'authorization_pending')).toHaveLength(1);
    expect(errors.filter((error) => error === 'slow_down')).toHaveLength(clients(32) - 1);
  });

  test('another client gets invalid_grant, which does not count as a poll', async () => {
    const codes = await device.start();
    expect(await device.poll(codes, { form: standardClient })).toMatchObject(invalidGrant);
    expect(await device.poll(codes)).toMatchObject(pending);
  });

  test('an unknown device code, a user code and a stored hash get invalid_grant', async () => {
    const { user_code } = await device.start();
    const { id } = await server.db('oidc_artifact').where({ model: 'DeviceCode' }).first();
    for (const device_code of ['unknown', user_code, user_code.replace('-', ''), id])
      expect(await device.poll({ device_code })).toMatchObject(invalidGrant);
  });

  test('a poll without a device code gets invalid_request', async () => {
    const response = await server.token({ ...screen, grant_type: deviceCodeGrant });
    expect(response).toMatchObject({ status: 400, error: 'invalid_request' });
  });
});

describe('after the user has denied the access', () => {
  test('every poll after the denial gets access_denied', async () => {
    const { codes } = await device.decide(deny);
    for (let poll = 0; poll < 2; poll++) {
      expect(await device.poll(codes)).toMatchObject(denied);
      await device.passTime(5);
    }
  });

  test('a user who denies on the consent page, or cancels on the sign-in page, denies the device', async () => {
    const atConsent = await device.decide(allow);
    const consent = await atConsent.browser.send(atConsent.page, owner);
    const page = await atConsent.browser.send(consent, {}, deny);
    expect(page.title).toMatch(/^The device is not connected/);
    expect(await device.poll(atConsent.codes)).toMatchObject(denied);
    const atSignIn = await device.decide(allow);
    await atSignIn.browser.send(atSignIn.page, {}, 'Cancel');
    expect(await device.poll(atSignIn.codes)).toMatchObject(denied);
  });
});

describe('after the user has allowed the access', () => {
  test('a poll gets the same response as an exchange of a code, with an id_token and a refresh token', async () => {
    const codes = await device.start();
    await device.connect(codes);
    const tokens = await device.poll(codes);
    expect(tokens).toEqual({
      status: 200,
      access_token: expect.any(String),
      id_token: expect.any(String),
      refresh_token: expect.any(String),
      expires_in: 3600,
      token_type: 'Bearer',
      scope: screenScope,
    });
    expect(decodeJwt(String(tokens.id_token))).toMatchObject({
      aud: 'demo-screen',
      sub: 'acc-player',
      name: 'Pat Player',
      roles: ['player'],
    });
    expect(decodeJwt(String(tokens.access_token))).toMatchObject({
      aud: audience,
      client_id: 'demo-screen',
      sub: 'acc-player',
      scope: `openid profile roles ${scopes.play}`,
      auth_time: expect.any(Number),
    });
    const userinfo = await server.userinfo(tokens.access_token);
    expect(await userinfo.json()).toMatchObject({ sub: 'acc-player', name: 'Pat Player', roles: ['player'] });
  });

  test('without openid there is no id_token, and without offline_access no refresh token', async () => {
    const codes = await device.start({ ...standardClient, scope: scopes.play });
    await device.connect(codes);
    const tokens = await device.poll(codes, { form: standardClient });
    expect(Object.keys(tokens).sort()).toEqual(['access_token', 'expires_in', 'scope', 'status', 'token_type']);
  });

  test('tokens can be bound to a key of the device with DPoP', async () => {
    const key = await createKeyClient('device-dpop', server.origin);
    const proof = async () => ({ DPoP: await key.proof(`${server.origin}/connect/token`) });
    const form = { client_id: 'device-dpop' };
    const codes = await device.start({ ...form, scope: `${scopes.play} offline_access` });
    expect(await device.poll(codes, { form, headers: await proof() })).toMatchObject(pending);
    await device.connect(codes);
    await device.passTime(5);
    // A poll without a proof is rejected.
    expect(await device.poll(codes, { form })).toMatchObject(invalidGrant);
    await device.passTime(5);
    const tokens = await device.poll(codes, { form, headers: await proof() });
    expect(tokens).toMatchObject({ status: 200, token_type: 'DPoP' });
    expect(decodeJwt(String(tokens.access_token)).cnf).toEqual({ jkt: key.thumbprint });
    const refresh = { ...form, grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) };
    const otherKey = await createKeyClient('device-dpop', server.origin);
    const otherProof = { DPoP: await otherKey.proof(`${server.origin}/connect/token`) };
    expect(await server.token(refresh, otherProof)).toMatchObject(invalidGrant);
    expect((await server.post('/connect/token', refresh, await proof())).status).toBe(200);
  });
});

describe('a device code that was used', () => {
  test('a second use of a device code gets invalid_grant, and its tokens are revoked', async () => {
    const codes = await device.start();
    await device.connect(codes);
    const tokens = await device.poll(codes);
    await passSecondAfterUse(server.db);
    expect(await device.poll(codes)).toMatchObject(invalidGrant);
    expect((await server.userinfo(tokens.access_token)).status).toBe(401);
  });

  test('of simultaneous polls at two instances, exactly one gets tokens, and they stay valid', async () => {
    const codes = await device.start();
    await device.connect(codes);
    const polls = await pollAtBoth(codes);
    const [issued, ...more] = polls.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    for (const { error } of polls.filter((poll) => poll !== issued))
      expect(['slow_down', 'invalid_grant']).toContain(error);
    expect((await server.userinfo(issued?.access_token)).status).toBe(200);
  });
});

describe('a device code that has expired', () => {
  // A code is valid for 600 s, and its row is stored for 600 s more.
  test('an expired code gets expired_token for 10 minutes, and then invalid_grant', async () => {
    const codes = await device.start();
    expect(await device.poll(codes)).toMatchObject(pending);
    await device.passTime(601);
    for (let poll = 0; poll < 2; poll++)
      expect(await device.poll(codes)).toMatchObject({ status: 400, error: 'expired_token' });
    await device.passTime(580);
    expect(await device.poll(codes)).toMatchObject({ status: 400, error: 'expired_token' });
    await device.passTime(20);
    expect(await device.poll(codes)).toMatchObject(invalidGrant);
  });
});

/** Requests codes. `form` contains further fields, such as the id of the client. */
const requestCodes = (form: Record<string, string>, headers: Record<string, string> = {}) =>
  server.post('/connect/deviceauthorization', { scope: `openid ${scopes.play}`, ...form }, headers);
const expectedCodes = {
  status: 200,
  device_code: expect.stringMatching(/^[\w-]{43}$/),
  // A user code has only consonants, so that it contains no words (RFC 8628 section 6.1).
  user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
};

describe('POST /connect/deviceauthorization', () => {
  test('the response contains new codes, both verification addresses, expires_in and interval', async () => {
    const response = await requestCodes(screen);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const body = await statusAndBody(response);
    expect(body).toEqual({
      ...expectedCodes,
      verification_uri: `${server.origin}/device`,
      verification_uri_complete: `${server.origin}/device?user_code=${body.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    const next = await statusAndBody(await requestCodes(screen));
    expect(next.device_code).not.toBe(body.device_code);
    expect(next.user_code).not.toBe(body.user_code);
  });

  test.each<[string, () => Promise<Response>]>([
    ['a public standard client', () => requestCodes({ ...standardClient, scope: scopes.all.join(' ') })],
    ['a client with its secret', () => requestCodes({}, basic('device-secret', 'device-secret-secret'))],
    ['a client with private_key_jwt', async () => requestCodes(await keyClient.authenticate())],
  ])('%s gets codes', async (_title, send) => {
    expect(await statusAndBody(await send())).toMatchObject(expectedCodes);
  });

  test('a client that is not registered for the grant gets unauthorized_client', async () => {
    const web = basic('demo-web', 'demo-web-secret');
    const unauthorized = { status: 400, error: 'unauthorized_client' };
    expect(await statusAndBody(await requestCodes({}, web))).toMatchObject(unauthorized);
    const form = { grant_type: deviceCodeGrant, device_code: 'x' };
    expect(await server.token(form, web)).toMatchObject(unauthorized);
  });

  test.each([
    ['a scope that the client may not have', scopes.bookings],
    ['a scope of the openid family without openid', `profile ${scopes.play}`],
  ])('a request with %s gets invalid_scope', async (_title, scope) => {
    const refused = await statusAndBody(await requestCodes({ ...screen, scope }));
    expect(refused).toMatchObject({ status: 400, error: 'invalid_scope' });
  });
});

test('the log contains no device code and no user code, and the database contains no device code', async () => {
  const { device_code, user_code } = await device.start();
  await fetch(`${server.origin}/device?user_code=${user_code}`);
  expect(JSON.stringify(await server.db('oidc_artifact'))).not.toContain(device_code);
  expect(server.log.join('\n')).not.toContain(device_code);
  expect(server.log.join('\n')).not.toContain(user_code);
});

/** Returns the audit events that `work` causes, except the events of a sign-in. */
async function eventsOf(work: () => Promise<unknown>) {
  await server.auth.waitUntilIdle();
  await server.db('audit_event').delete();
  await work();
  await server.auth.waitUntilIdle();
  return server.db('audit_event').whereNot('kind', 'like', 'sign-in.%').orderBy('id');
}

test('the events of a connected device are its request, its consent, its decision and its tokens', async () => {
  // A remembered consent has no page.
  await server.db('consent').del();
  const events = await eventsOf(async () => {
    const codes = await device.start();
    await device.poll(codes);
    await device.poll(codes);
    await device.connect(codes);
    // The second poll came too early, so the interval has grown from 5 s to 10 s.
    await device.passTime(10);
    await device.poll(codes);
  });
  expect(events.map(({ kind }) => kind)).toEqual([
    'device-authorization.started',
    'consent.given',
    'device.connected',
    'token.issued',
  ]);
  const [started, , connected, issued] = events;
  const [client_id, account_id, detail] = ['demo-screen', 'acc-player', { scope: screenScope }];
  expect(started).toMatchObject({ client_id, account_id: null, detail });
  expect(connected).toMatchObject({ client_id, account_id, detail });
  expect(issued).toMatchObject({ account_id, detail: { ...detail, grantType: deviceCodeGrant } });
});

test('the audit trail contains denied devices and wrong codes', async () => {
  const events = await eventsOf(() => device.decide(deny));
  expect(events.map(({ kind }) => kind)).toEqual(['device-authorization.started', 'device.denied']);
  // No device has this code.
  const wrongCode = await eventsOf(() => device.enter('BCDF-GHJK'));
  expect(wrongCode.map(({ kind }) => kind)).toEqual(['device-code.refused']);
});
