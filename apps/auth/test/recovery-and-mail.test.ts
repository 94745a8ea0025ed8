// Contract section 5: mail for a registration and a password reset, by SMTP, once and for a while; what is waiting survives a server
// that is away.

import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { type SmtpSink, startSmtpSink } from '@bay-booking/testkit/smtp-sink';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createExpiredRowsStore } from '../src/accounts/expired-rows-store.ts';
import { type AuthServer, eventually, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

let smtp: SmtpSink;
let server: AuthServer;
beforeAll(async () => {
  smtp = await startSmtpSink();
  server = await startAuthServer({
    SMTP_URL: smtp.url,
    MAIL_FROM: 'Bay Booking <mail@range.example>',
    LOCKOUT_SLOW_DOWN_MS: '0',
  });
});
afterAll(async () => {
  await server.close();
  await smtp.close();
});

const browser = (): FormBrowser => openFormBrowser([server.origin]);
const linkIn = (text: string): string => /https?:\/\/\S+token=\S+/.exec(text)?.[0] ?? '';
const password = 'seven unusual lamps';

async function register(name: string): Promise<{ visitor: FormBrowser; page: Page; username: string }> {
  const visitor = browser();
  const username = `${name}@example.org`;
  const form = await visitor.open(`${server.origin}/register`);
  const page = await visitor.send(form, { name: 'Rita Reader', username, password });
  return { visitor, page, username };
}

async function askForReset(username: string): Promise<string> {
  const visitor = browser();
  const answer = await visitor.send(await visitor.open(`${server.origin}/reset-password`), { username });
  expect(answer.title).toMatch(/^Check your e-mail/);
  const mail = await smtp.mailTo(username, ({ subject }) => subject === 'Choose a new password');
  return linkIn(mail.text);
}

const tokens = async (username: string, secret: string) =>
  statusAndBody(
    await server.post('/connect/token', {
      grant_type: 'password',
      client_id: 'demo-native',
      scope: `offline_access ${scopes.play}`,
      username,
      password: secret,
    }),
  );

describe('a registration', () => {
  test('mails a link that confirms the address, as text and as HTML', async () => {
    const { visitor, username } = await register('confirm');
    const mail = await smtp.mailTo(username);
    expect(mail).toMatchObject({ from: 'mail@range.example', subject: 'Confirm your e-mail address' });
    expect(mail.html).toContain(linkIn(mail.text));
    expect(mail.text).not.toContain(password);
    expect((await visitor.open(`${server.origin}/account`)).html).toContain('not confirmed');
    expect((await browser().open(linkIn(mail.text))).status).toBe(200);
    expect((await visitor.open(`${server.origin}/account`)).html).not.toContain('not confirmed');
  });

  test('no name can put a link or a header into the mail', async () => {
    const visitor = browser();
    const name = 'win at https://evil.example\r\nBcc: all@example.org';
    const form = await visitor.open(`${server.origin}/register`);
    await visitor.send(form, { name, username: 'spam@example.org', password });
    const mail = await smtp.mailTo('spam@example.org');
    expect(mail.to).toEqual(['spam@example.org']);
    expect(mail.text + mail.html).not.toContain('evil.example');
  });

  test('another link may be asked for, and ends the one before', async () => {
    const { visitor, username } = await register('another');
    const first = linkIn((await smtp.mailTo(username)).text);
    await visitor.send(await visitor.open(`${server.origin}/account`), {}, 'Send me a new link');
    const second = await smtp.mailTo(username, ({ text }) => linkIn(text) !== first);
    expect((await browser().open(first)).status).toBe(410);
    expect((await browser().open(linkIn(second.text))).status).toBe(200);
  });
});

describe('a password reset', () => {
  test('changes the password, once; ends every session and token; and tells the owner', async () => {
    const { visitor, username } = await register('reset');
    const before = await tokens(username, password);
    expect(before.status).toBe(200);
    const link = await askForReset(username);
    const other = browser();
    const form = await other.open(link);
    expect(form.title).toMatch(/^Choose a new password/);
    const changed = await other.send(form, { password: 'eight quiet harbours' });
    expect(changed.title).toMatch(/^Your password is changed/);

    expect(await tokens(username, password)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await tokens(username, 'eight quiet harbours')).toMatchObject({ status: 200 });
    const refresh = {
      grant_type: 'refresh_token',
      client_id: 'demo-native',
      refresh_token: String(before.refresh_token),
    };
    expect(await statusAndBody(await server.post('/connect/token', refresh))).toMatchObject({ status: 400 });
    expect((await visitor.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
    await smtp.mailTo(username, ({ subject }) => subject === 'Your password was changed');

    expect((await other.open(link)).status).toBe(410);
    expect((await other.send(form, { password: 'nine quiet harbours' })).status).toBe(410);
  });

  test('ends a lock-out, as the page of somebody locked out says', async () => {
    const { username } = await register('locked');
    await Promise.all(Array.from({ length: 14 }, () => tokens(username, 'wrong')));
    expect(await tokens(username, password)).toMatchObject({ status: 429 });
    const visitor = browser();
    const form = await visitor.open(await askForReset(username));
    await visitor.send(form, { password: 'eight quiet harbours' });
    expect(await tokens(username, 'eight quiet harbours')).toMatchObject({ status: 200 });
  });

  test('of two who use the link at once, one is answered', async () => {
    const { username } = await register('race');
    const link = await askForReset(username);
    const visitors = Array.from({ length: 6 }, browser);
    const forms = await Promise.all(visitors.map((visitor) => visitor.open(link)));
    const answers = await Promise.all(
      visitors.map((visitor, n) => visitor.send(forms[n] as Page, { password: `${n} quiet harbours` })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('a link is no good once the password was changed otherwise', async () => {
    const { visitor, username } = await register('changed');
    const link = await askForReset(username);
    const form = await browser().open(link);
    const account = await visitor.open(`${server.origin}/account`);
    await visitor.send(account, { password, newPassword: 'eight quiet harbours' });
    expect((await browser().open(link)).status).toBe(410);
    expect((await browser().send(form, { password: 'nine quiet harbours' })).status).not.toBe(200);
    expect(await tokens(username, 'eight quiet harbours')).toMatchObject({ status: 200 });
  });

  test.each([
    ['address', { email: 'elsewhere@example.org' }],
    ['password', { password: 'ten quiet harbours' }],
  ])('a link is no good once an import has changed the %s', async (what, change) => {
    const { username } = await register(`import-${what}`);
    const link = await askForReset(username);
    const { rows } = await server.db.raw('select id from account where username = ?', [username]);
    const account = { id: String(rows[0].id), username };
    await server.load({ accounts: [account] });
    expect((await browser().open(link)).status).toBe(200);
    await server.load({ accounts: [{ ...account, ...change }] });
    expect((await browser().open(link)).status).toBe(410);
  });

  test('a trivial password is refused, and the link stays good', async () => {
    const { username } = await register('trivial');
    const visitor = browser();
    const form = await visitor.open(await askForReset(username));
    const refused = await visitor.send(form, { password: 'password1' });
    expect(refused.status).toBe(400);
    expect((await visitor.send(refused, { password: 'eight quiet harbours' })).status).toBe(200);
  });

  test('an expired link is no good', async () => {
    const { username } = await register('expired');
    const link = await askForReset(username);
    await server.db.raw("update one_time_link set expires_at = now() - interval '1 second'");
    expect((await browser().open(link)).status).toBe(410);
  });

  test('links are kept as hashes alone', async () => {
    const { username } = await register('hashed');
    const token = new URL(await askForReset(username)).searchParams.get('token') ?? 'none';
    const { rows } = await server.db.raw('select json_agg(l)::text as links from one_time_link l');
    expect(rows[0].links).not.toContain(token);
    await server.auth.settle();
    expect(server.log.join('\n')).not.toContain(token);
  });

  test('one recipient is not flooded', async () => {
    const { username } = await register('flood');
    for (let n = 0; n < 12; n++) {
      const visitor = browser();
      await visitor.send(await visitor.open(`${server.origin}/reset-password`), { username });
    }
    await server.auth.settle();
    expect(smtp.mails().filter(({ to }) => to.includes(username)).length).toBeLessThanOrEqual(5);
  });
});

describe('mail waits in the database', () => {
  const waiting = async (): Promise<number> =>
    Number((await server.db.raw('select count(*) as n from mail')).rows[0].n);

  test('while the server refuses it, and goes out when it is taken again', async () => {
    smtp.refuseWith(451);
    const { username } = await register('later');
    await eventually(async () => server.log.some((line) => line.includes('email could not be sent')));
    expect(await waiting()).toBeGreaterThan(0);
    smtp.refuseWith(undefined);
    await server.db.raw('update mail set next_try_at = now()');
    // Any mail makes the outbox be looked at.
    await register('nudge');
    await smtp.mailTo(username);
    await eventually(async () => (await waiting()) === 0);
  });

  test('what the server will never take is given up', async () => {
    smtp.refuseWith(550);
    await register('never');
    await eventually(async () => server.log.some((line) => line.includes('"givenUp":true')));
    smtp.refuseWith(undefined);
    await eventually(async () => (await waiting()) === 0);
  });

  test('sent mail leaves nothing behind', async () => {
    const { username } = await register('clean');
    await smtp.mailTo(username);
    await eventually(async () => (await waiting()) === 0);
  });
});

test('what has had its time is cleaned up: links, trips to providers, counts, browsers', async () => {
  await register('old');
  await server.db.raw(`
    update one_time_link set expires_at = now() - interval '2 hours';
    insert into social_attempt values ('s', 'b', 'google', 'n', 'v', null, null, null, now() - interval '2 hours');
    update guard_count set expire = 1;
    update browser_session set seen_at = now() - interval '40 days';
    delete from oidc_artifact where model = 'Session'`);
  await createExpiredRowsStore({ db: server.db }).cleanUp();
  const { rows } = await server.db.raw(`select
    (select count(*) from one_time_link) + (select count(*) from social_attempt) +
    (select count(*) from guard_count) + (select count(*) from browser_session) as n`);
  expect(Number(rows[0].n)).toBe(0);
});
