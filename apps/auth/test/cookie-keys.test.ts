// Tests the rotation of COOKIE_KEYS in the steps of docs/operations/configure.md, "Rotation of secrets".
// In each step, one browser uses two instances: one with the old value of COOKIE_KEYS, and one with the new value.

import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AuthServer, startAuthServer } from './auth-server.ts';

const before = 'before-'.padEnd(40, 'b');
const after = 'after-'.padEnd(40, 'a');
const steps = { before, known: `${before},${after}`, signing: `${after},${before}`, after } as const;
type Step = keyof typeof steps;

let server: AuthServer;
let origins: Record<Step, string>;
beforeAll(async () => {
  server = await startAuthServer({ COOKIE_KEYS: steps.before, LOCKOUT_SLOW_DOWN_MS: '0' });
  const at = async (step: Step) => (await server.startInstance({ COOKIE_KEYS: steps[step] })).origin;
  origins = {
    before: server.origin,
    known: await at('known'),
    signing: await at('signing'),
    after: await at('after'),
  };
});
afterAll(() => server.close());

/** Loads the sign-in form from the first instance, submits it to the second, and then opens a page of the first. */
async function signInAcross(first: Step, second: Step) {
  const browser = openFormBrowser(Object.values(origins));
  const page = await browser.open(`${origins[first]}/sign-in`);
  const headers = () => ({
    Cookie: browser
      .cookies()
      .map((cookie) => cookie.split(';')[0])
      .join('; '),
  });
  const fields = page.forms.flatMap(({ fields }) => fields).map(({ name, value }) => [name, value]);
  const sent = await fetch(`${origins[second]}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...headers(), Origin: server.origin },
    body: new URLSearchParams({
      ...Object.fromEntries(fields),
      username: 'player@example.com',
      password: 'demo-player-pass',
    }),
  });
  const cookies = sent.headers.getSetCookie().map((line) => line.split(';')[0]);
  const account = await fetch(`${origins[first]}/account`, {
    redirect: 'manual',
    headers: { Cookie: cookies.join('; ') },
  });
  return { form: sent.status, session: account.status };
}

test.each([
  ['before', 'known'],
  ['known', 'before'],
  ['known', 'signing'],
  ['signing', 'known'],
  ['signing', 'after'],
  ['after', 'signing'],
] as const)('instances with the keys "%s" and "%s" accept each other’s forms and sessions', async (first, second) => {
  expect(await signInAcross(first, second)).toEqual({ form: 303, session: 200 });
});

test('an instance rejects sessions that were signed with a key it does not know', async () => {
  expect(await signInAcross('before', 'signing')).toEqual({ form: 303, session: 303 });
});
