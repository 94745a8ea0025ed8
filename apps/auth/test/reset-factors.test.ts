// Tests the command that removes lost second factors, and the authenticator app of an import file.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { encryptionKey, startAuthServer } from './auth-server.ts';
import { codeOf, setUpApp } from './factors-fixture.ts';
import { registerUser, signInUser } from './test-users.ts';

const server = useFixture(() => startAuthServer());

const run = (command: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, [`src/commands/${command}.ts`, ...args], {
    env: { ...process.env, DATABASE_URL: server.databaseUrl, KEY_ENCRYPTION_KEY: encryptionKey },
  });

test('the command removes the factors, ends the sessions and mails the user', async () => {
  const { username, browser } = await registerUser(server);
  await setUpApp(server, browser);
  const { stdout } = await run('reset-factors', username.toUpperCase());
  expect(stdout).toContain(`removed the second factors of ${username}`);
  expect(stdout).toContain('All second factors were removed in your account');
  expect((await browser.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
  expect((await signInUser(server, username)).account.url.pathname).toBe('/account');
  const events = await server.db('audit_event').where({ kind: 'factor.reset' });
  // The list of an operator's changes has only events with `operator`.
  expect(events).toMatchObject([{ detail: { operator: 'reset-factors' } }]);
  await expect(run('reset-factors', 'nobody@example.org')).rejects.toThrow('there is no account');
});

test('an import file can contain an authenticator app and recovery codes', async () => {
  const totpSecret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const account = {
    id: 'acc-secure',
    username: 'secure@north.example',
    password: 'demo-owner-pass',
    totpSecret,
    recoveryCodes: ['demo-0001', 'demo-0002'],
  };
  await server.load({ accounts: [account] });
  const signIn = async (code: string) => {
    const { browser, account: page } = await signInUser(server, account.username, { secret: account.password });
    return (await browser.send(page, { code })).url.pathname;
  };
  const code = codeOf(totpSecret);
  expect([await signIn(code), await signIn('demo-0001')]).toEqual(['/account', '/account']);
  // Used codes stay used when the file is imported again.
  await server.load({ accounts: [account] });
  const again = [await signIn(code), await signIn('demo-0001'), await signIn('DEMO 0002')];
  expect(again).toEqual(['/sign-in/second-factor', '/sign-in/second-factor', '/account']);
});
