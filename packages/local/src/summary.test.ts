// Tests that the summary of `npm start` names every client and every account of the demo.
import { expect, test } from '@jest/globals';
import { readDemo } from './demo.ts';
import { readSettings } from './settings.ts';
import { summary } from './summary.ts';

test('the summary contains the credentials of every client and every account of the demo', () => {
  const noVariables = {};
  const noArguments: string[] = [];
  const settings = readSettings(noVariables, noArguments);
  const { accounts, clients } = readDemo(settings);
  const databases = 'PostgreSQL';
  const startSeconds = 1;
  const text = summary(settings, databases, startSeconds);
  for (const address of ['4000', '4000/portal', '4001', '4001/docs', '4001/day'])
    expect(text).toMatch(new RegExp(`http://localhost:${address}\\s`));
  expect(Math.min(accounts.length, clients.length)).toBeGreaterThan(3);
  for (const { username, password } of accounts) {
    expect(text).toContain(username);
    expect(text).toContain(`(${password})`);
  }
  // A line begins with `ID / SECRET` for a client with a secret, and with `ID` for a public client.
  for (const { client_id: id, client_secret: secret } of clients)
    expect(text).toContain(secret === undefined ? `  ${id} ` : `  ${id} / ${secret} `);
});
