// Does COOKIE_KEYS rotate unnoticed, as docs/operations/configure.md ("Rotation of secrets") has it, while instances with the keys before and after a
// step serve the same browser?

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

/** Shown the form by one instance, sends it to another, is signed in there, and goes on at the first. */
async function useBoth(first: Step, second: Step) {
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
] as const)(
  'a form of an instance with the keys "%s" and a session of one with "%s" are good for both',
  async (first, second) => {
    expect(await useBoth(first, second)).toEqual({ form: 303, session: 200 });
  },
);

test('a key that not every instance knows yet must not sign', async () => {
  expect(await useBoth('before', 'signing')).toEqual({ form: 303, session: 303 });
});
