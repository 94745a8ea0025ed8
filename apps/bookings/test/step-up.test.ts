// Tests STEP_UP=schedule: changes of the schedule need a recent sign-in of the user with two factors (RFC 9470).
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
let withoutStepUp: TestSystem;
beforeAll(async () => {
  system = await createTestSystem({ config: { stepUp: 'schedule' } });
  withoutStepUp = await createTestSystem();
});
afterAll(() => Promise.all([system.close(), withoutStepUp.close()]));

const scope = 'https://bay-booking.example/golf/schedule https://bay-booking.example/golf/bookings';
const path = '/api/booking-locations/loc-north-1/opening-hours';
const body = { weekly: { monday: [{ opens: '07:00', closes: '22:00' }] } };
const secondsAgo = (seconds: number): number => Math.floor(Date.now() / 1000) - seconds;
const tokenOf = (claims: Record<string, unknown>, of = system) => of.token(['fac-north'], { scope, ...claims });

test.each([
  ['one factor', { amr: ['pwd'], auth_time: secondsAgo(5) }],
  ['an old sign-in', { amr: ['pwd', 'otp', 'mfa'], auth_time: secondsAgo(3_700) }],
  ['no methods', { grant_id: 'g-1' }],
])('a token of a user with %s is challenged', async (_name, claims) => {
  const token = await tokenOf(claims);
  for (const [method, at] of [
    ['PUT', path],
    ['DELETE', path],
    ['POST', '/api/booking-closures'],
    ['DELETE', '/api/booking-closures/any'],
  ]) {
    const response = await system.call(String(method), String(at), { token, ...(method !== 'DELETE' && { body }) });
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toMatch(
      /^Bearer .*error="insufficient_user_authentication".*acr_values="2", max_age="3600"$/,
    );
  }
  expect((await system.call('GET', path, { token })).status).toBe(200);
});

test('two factors within an hour, and tokens of programs, pass', async () => {
  for (const claims of [{ amr: ['pop', 'mfa'], auth_time: secondsAgo(3_500), grant_id: 'g-1' }, {}]) {
    expect((await system.call('PUT', path, { token: await tokenOf(claims), body })).status).toBe(200);
  }
});

test('without STEP_UP, nothing is challenged', async () => {
  const token = await tokenOf({ amr: ['pwd'], auth_time: secondsAgo(5_000) }, withoutStepUp);
  expect((await withoutStepUp.call('PUT', path, { token, body })).status).toBe(200);
});
