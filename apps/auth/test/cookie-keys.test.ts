// Tests the rotation of COOKIE_KEYS in the steps of docs/operations/configure.md, "Rotation of secrets". In each step,
// one browser uses two instances: one with the old value of COOKIE_KEYS, and one with the new value.
import { useFixture } from '@bay-booking/testkit/fixture';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { beforeAll, expect, test } from '@jest/globals';
import { startAuthServer } from './auth-server.ts';

const oldKey = 'old-'.padEnd(40, 'o');
const newKey = 'new-'.padEnd(40, 'n');
/** The values of COOKIE_KEYS in the order of the rotation. The first key signs, and all keys verify. */
const steps = {
  'old key': oldKey,
  'old key, new key': `${oldKey},${newKey}`,
  'new key, old key': `${newKey},${oldKey}`,
  'new key': newKey,
} as const;
type Step = keyof typeof steps;

const server = useFixture(() => startAuthServer());
/** For each step, the origin of the instance that runs with the COOKIE_KEYS of this step. */
let origins: Record<Step, string>;
beforeAll(async () => {
  const startStep = async (step: Step) => (await server.startInstance({ COOKIE_KEYS: steps[step] })).origin;
  origins = {
    'old key': await startStep('old key'),
    'old key, new key': await startStep('old key, new key'),
    'new key, old key': await startStep('new key, old key'),
    'new key': await startStep('new key'),
  };
});

/**
 * Loads the sign-in form from the first instance, sends the form to the second instance, and opens "Your account" at
 * the first instance. Returns the statuses: 303 means that the form was accepted, and 200 that the user is signed in.
 */
async function signInAcross(first: Step, second: Step) {
  const browser = openFormBrowser(Object.values(origins));
  const page = await browser.open(`${origins[first]}/sign-in`);
  /** Joins cookies to the header `Cookie`, without their attributes. */
  const headerOf = (cookies: readonly string[]) => cookies.map((cookie) => cookie.split(';')[0]).join('; ');
  const fields = page.forms.flatMap((form) => form.fields).map(({ name, value }) => [name, value]);
  // All instances have the issuer of `server`, so they accept only forms with this origin.
  const sent = await fetch(`${origins[second]}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: headerOf(browser.cookies()), Origin: server.origin },
    body: new URLSearchParams({
      ...Object.fromEntries(fields),
      username: 'player@example.com',
      password: 'demo-player-pass',
    }),
  });
  const account = await fetch(`${origins[first]}/account`, {
    redirect: 'manual',
    headers: { Cookie: headerOf(sent.headers.getSetCookie()) },
  });
  return { form: sent.status, session: account.status };
}

test.each([
  ['old key', 'old key, new key'],
  ['old key, new key', 'old key'],
  ['old key, new key', 'new key, old key'],
  ['new key, old key', 'old key, new key'],
  ['new key, old key', 'new key'],
  ['new key', 'new key, old key'],
] as const)(
  'instances with COOKIE_KEYS="%s" and COOKIE_KEYS="%s" accept each other’s forms and sessions',
  async (first, second) => {
    expect(await signInAcross(first, second)).toEqual({ form: 303, session: 200 });
  },
);

test('an instance rejects a session that was signed with a key that is not in its COOKIE_KEYS', async () => {
  // The second instance accepts the form, but signs the session with the new key. The first instance does not have this
  // key, so it redirects the request with the session to the sign-in page.
  expect(await signInAcross('old key', 'new key, old key')).toEqual({ form: 303, session: 303 });
});
