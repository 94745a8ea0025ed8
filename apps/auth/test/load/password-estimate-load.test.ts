// Tests that estimates of the strength of passwords, which take much CPU time, do not block an instance: registrations
// are limited, a form with another error causes no estimate, and other requests are served meanwhile.
import { useFixture } from '@bay-booking/testkit/fixture';
import { fieldOf, openFormBrowser } from '@bay-booking/testkit/form-browser';
import { expect, test } from '@jest/globals';
import { basic, scopes, startAuthServer } from '../auth-server.ts';

const server = useFixture(() => startAuthServer());

/** Estimating the strength of this password takes much CPU time, because it repeats a word with substitutions. */
const expensivePassword = 'p4$$w0rd'.repeat(9);

/** Deletes the counted registrations. All tests together exceed the limit of 200 registrations per hour and address. */
const resetCounts = () => server.db.raw('delete from guard_count');

/** Opens the registration form, and returns a function that submits the form without loading another page. */
async function openRegistration() {
  const browser = openFormBrowser([server.origin]);
  const page = await browser.open('/register');
  const [csrf, cookie] = [fieldOf(page, 'csrf') ?? '', browser.cookieHeader()];
  return (form: Record<string, string>) => server.post('/register', { csrf, ...form }, { cookie });
}

test('the 201st registration of one address gets a 429, even if all earlier registrations were rejected', async () => {
  await resetCounts();
  const register = await openRegistration();
  const statuses: number[] = [];
  for (let n = 0; n < 205; n++) {
    // The password is easy to guess, so the registration gets 400.
    const response = await register({ name: 'Eve', username: `eve${n}@example.org`, password: 'password1' });
    statuses.push(response.status);
  }
  expect(statuses.slice(0, 200)).toEqual(Array(200).fill(400));
  expect(statuses.slice(200)).toEqual(Array(5).fill(429));
});

test('a registration with another error does not estimate the password', async () => {
  await resetCounts();
  const register = await openRegistration();
  const html = await (await register({ name: '', username: 'nobody', password: 'password1' })).text();
  expect(html).toContain('Enter an e-mail address');
  expect(html).not.toContain('first that an attacker would try');
});

test('other requests are served while many expensive passwords are estimated', async () => {
  await resetCounts();
  const register = await openRegistration();
  const registerWith = (password: string) => register({ name: 'Eve', username: 'eve@example.org', password });
  const measure = async (password: string): Promise<number> => {
    const started = performance.now();
    await registerWith(password);
    return performance.now() - started;
  };
  // The first estimate is slower than the others.
  await registerWith(expensivePassword);
  // Other programs can only make a response slower, so the fastest ones are compared.
  let [cheap, expensive] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 10 || (round < 80 && expensive / cheap >= 4); round++) {
    cheap = Math.min(cheap, await measure('password1'));
    expensive = Math.min(expensive, await measure(expensivePassword));
  }
  // Without the limits in accounts/password-policy.ts, the estimate would take ten times as long.
  expect(expensive / cheap).toBeLessThan(4);
  await resetCounts();

  let isDone = false;
  const sendTen = async (): Promise<void> => {
    for (let n = 0; n < 10; n++) await registerWith(expensivePassword);
  };
  const load = Promise.all(Array.from({ length: 8 }, sendTen)).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const form = { grant_type: 'client_credentials', scope: scopes.bookings };
    const [health, token] = await Promise.all([
      fetch(`${server.origin}/health/live`),
      server.post('/connect/token', form, basic('demo-pat-north', 'demo-pat-north-secret')),
    ]);
    expect([health.status, token.status]).toEqual([200, 200]);
  }
  await load;
});
