// Tests that bookings reads the list of ended rights, and refuses what an ended right allowed (docs/behaviour.md,
// "Revoked tokens").
import type { TokenOptions } from '@bay-booking/testkit/issuer';
import { eventually } from '@bay-booking/testkit/wait';
import { beforeEach, expect, test } from '@jest/globals';
import { bookingBody } from './support/booking-requests.ts';
import { baseUrl, createExtraSystem, type TestSystem, useTestSystem } from './support/test-system.ts';

const path = '/api/booking-locations';
const now = () => Math.floor(Date.now() / 1000);
const invalidToken =
  `Bearer realm="bay-booking", resource_metadata="${baseUrl}/.well-known/oauth-protected-resource", ` +
  'error="invalid_token", error_description="The token was revoked."';

const system = useTestSystem();
beforeEach(() => {
  Object.assign(system.issuer.revocations, { claims: {}, header: {}, status: 200 });
});

let subjects = 0;
/** Returns the claims of a token of a new account, client and grant. */
function newClaims() {
  subjects += 1;
  const id = String(subjects);
  const ids = { sub: `account-${id}`, client_id: `client-${id}`, grant_id: `grant-${id}`, jti: `token-${id}` };
  return { ...ids, iat: now() - 5 };
}
const tokenOf = (claims: TokenOptions, facilities = ['fac-north', 'fac-south']) => system.token(facilities, claims);
const statusOf = async (token: string, instance = system) => (await instance.call('GET', path, { token })).status;

test.each([
  ['token', ({ jti }) => `token ${jti}`, { jti: 'another' }],
  ['client', ({ client_id }) => `client ${client_id}`, { client_id: 'another' }],
  ['grant', ({ grant_id }) => `grant ${grant_id}`, { grant_id: 'another' }],
  ['account', ({ sub }) => `account ${sub}`, { sub: 'another' }],
  ['access', ({ sub }) => `access ${sub} fac-south`, { facilities: ['fac-north'] }],
  ['client-access', ({ client_id }) => `client-access ${client_id} fac-south`, { client_id: 'another' }],
  ['facility', () => 'facility fac-south', { facilities: ['fac-north'] }],
] as [string, (claims: ReturnType<typeof newClaims>) => string, TokenOptions][])(
  'a token of an ended right (%s) gets 401, and later tokens and other tokens do not',
  async (_kind, rightOf, others) => {
    const claims = newClaims();
    const before = now() - 10;
    const [old, later, other] = [
      await tokenOf({ ...claims, iat: before - 1 }),
      await tokenOf({ ...claims, iat: before }),
      await tokenOf({ ...claims, ...others, iat: before - 1 }),
    ];
    // The token is verified, and so in the cache, before its right ends.
    expect(await statusOf(old)).toBe(200);
    system.issuer.revoke(rightOf(claims), before);
    await system.revocations.read();
    const refused = await system.call('GET', path, { token: old });
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, invalidToken]);
    expect([await statusOf(later), await statusOf(other)]).toEqual([200, 200]);
  },
);

test('a list of several pages is read completely by a new instance, and then by its changes', async () => {
  const first = newClaims();
  const token = await tokenOf(first);
  system.issuer.revoke(`client ${first.client_id}`);
  for (let index = 0; index < 12_000; index += 1) system.issuer.revoke(`token filler-${index}`);
  const last = newClaims();
  system.issuer.revoke(`client ${last.client_id}`);
  const instance = await createExtraSystem({ sharing: system });
  expect([await statusOf(token, instance), await statusOf(await tokenOf(last), instance)]).toEqual([401, 401]);
  const next = newClaims();
  system.issuer.revoke(`client ${next.client_id}`);
  expect(await statusOf(await tokenOf(next), instance)).toBe(200);
  await instance.revocations.read();
  expect(await statusOf(await tokenOf(next), instance)).toBe(401);
});

test('the list is read again from the beginning when its numbers begin again', async () => {
  const instance = await createExtraSystem({ sharing: system });
  const [forgotten, added] = [newClaims(), newClaims()];
  const entries = system.issuer.revocations.entries;
  system.issuer.revoke(`client ${forgotten.client_id}`);
  system.issuer.revoke('token filler');
  await instance.revocations.read();
  expect(await statusOf(await tokenOf(forgotten), instance)).toBe(401);
  system.issuer.revocations.entries = [];
  system.issuer.revoke(`client ${added.client_id}`);
  await instance.revocations.read();
  expect(await statusOf(await tokenOf(forgotten), instance)).toBe(200);
  expect(await statusOf(await tokenOf(added), instance)).toBe(401);
  system.issuer.revocations.entries = [...entries, ...system.issuer.revocations.entries];
});

test.each<[string, Partial<TestSystem['issuer']['revocations']>]>([
  ['returns 404', { status: 404 }],
  ['is of another type', { header: { typ: 'JWT' } }],
  ['is signed with an unknown key', { header: { kid: 'unknown' } }],
  ['is signed with another algorithm', { header: { alg: 'HS256' } }],
  ['is of another issuer', { claims: { iss: 'https://else.example' } }],
  ['has expired', { claims: { exp: now() - 60 } }],
  ['has no expiry', { claims: { exp: undefined } }],
  ['has no entries', { claims: { revoked: undefined } }],
  ['has an invalid entry', { claims: { revoked: [{ id: 'x' }] } }],
  ['has no last number', { claims: { last: undefined } }],
  ['never ends', { claims: { more: true } }],
])(
  'a list that %s keeps a new instance from being ready, and a running one continues with its list',
  async (_, wrong) => {
    const claims = newClaims();
    const [token, other] = [await tokenOf(claims), await tokenOf(newClaims())];
    system.issuer.revoke(`client ${claims.client_id}`);
    await system.revocations.read();
    Object.assign(system.issuer.revocations, wrong);
    // `toThrow` does not know the errors of jsonwebtoken, which the service creates outside the realm of this file.
    await expect(system.revocations.read()).rejects.toHaveProperty('message');
    expect([await statusOf(token), await statusOf(other)]).toEqual([401, 200]);
    const instance = await createExtraSystem({ sharing: system });
    const ready = await instance.call('GET', '/health/ready', { token: null });
    expect([ready.status, ready.body.checks.revocations]).toEqual([503, expect.stringContaining('revocations')]);
    expect(await statusOf(other, instance)).toBe(503);
    Object.assign(system.issuer.revocations, { claims: {}, header: {}, status: 200 });
    await instance.revocations.read();
    expect((await instance.call('GET', '/health/ready', { token: null })).body.checks.revocations).toBe('ok');
    expect([await statusOf(token, instance), await statusOf(other, instance)]).toEqual([401, 200]);
  },
);

test('running instances read the list by themselves, and the metric shows its age', async () => {
  const instances = await Promise.all(
    [1, 2].map(() => createExtraSystem({ sharing: system, config: { revocationPollSeconds: 1 } })),
  );
  const stops = instances.map(({ revocations }) => revocations.start());
  const claims = newClaims();
  const token = await tokenOf(claims);
  const untilAll = async (expected: number) => {
    for (const instance of instances) await eventually(async () => (await statusOf(token, instance)) === expected);
  };
  await untilAll(200);
  system.issuer.revoke(`account ${claims.sub}`);
  await untilAll(401);
  await Promise.all(stops.map((stop) => stop()));
  const { text } = await (instances[0] as TestSystem).call('GET', '/metrics', { token: null });
  expect(Number(/^bookings_revocations_age_seconds(?:\{.*\})? (\S+)$/m.exec(text)?.[1])).toBeLessThan(20);
});

test('holds end with the account or its access to their facility, and holds of later tokens stay', async () => {
  const [dismissed, disabled, unrelated] = [newClaims(), newClaims(), newClaims()];
  const before = now();
  let bay = 0;
  const hold = async (claims: TokenOptions, location = 'n1') => {
    bay += 1;
    const bayId = `bay-${location}-0${location === 'n1' ? bay : 1}`;
    const { userAlias: _, ...times } = bookingBody();
    const options = { token: await tokenOf(claims), body: { ...times, bayId } };
    const { status, body } = await system.call('POST', '/api/booking-holds', options);
    expect(status).toBe(201);
    return body.id as string;
  };
  const ended = [await hold(dismissed), await hold(disabled)];
  const live = [await hold(dismissed, 's1'), await hold(unrelated), await hold({ ...dismissed, iat: before })];
  const liveHolds = () =>
    system
      .db('booking_hold')
      .whereIn('id', [...ended, ...live])
      .pluck('id');
  system.issuer.revoke(`access ${dismissed.sub} fac-north`, before);
  system.issuer.revoke(`account ${disabled.sub}`, before);
  await system.revocations.read();
  expect((await liveHolds()).toSorted()).toEqual(live.toSorted());
});

test('100 requests of an owner wait at a feed, one more does not, and they end with 401 when the right ends', async () => {
  const claims = newClaims();
  const token = await tokenOf(claims);
  const first = await system.call('GET', '/api/booking-changes?facilityId=fac-south', { token });
  const wait = (seconds: number) =>
    system.call('GET', first.body.next.replace(baseUrl, ''), { token, headers: { Prefer: `wait=${seconds}` } });
  const responses: ReturnType<typeof wait>[] = [];
  for (let count = 0; count < 101; count += 1) {
    responses.push(wait(25));
    // Lets the requests before this one read the feed. All at once would wait too long for a connection.
    if (count % 10 === 9) await system.call('GET', '/api/booking-changes?facilityId=fac-south', { token });
  }
  // The others wait, because the feed has no change.
  expect((await Promise.race(responses)).headers['preference-applied']).toBe('wait=0');
  system.issuer.revoke(`client ${claims.client_id}`);
  await system.revocations.read();
  const challenges = (await Promise.all(responses)).map(({ headers }) => headers['www-authenticate']);
  expect(challenges.filter((challenge) => challenge === invalidToken)).toHaveLength(100);
});
