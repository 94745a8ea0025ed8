// Tests the e-mails for registrations and password resets, their one-time links, the outbox, and the deletion of
// expired rows.
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, linkTo, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { startSmtpSink } from '@bay-booking/testkit/smtp-sink';
import { eventually } from '@bay-booking/testkit/wait';
import { describe, expect, test } from '@jest/globals';
import { createOneTimeLinks } from '../src/accounts/one-time-link-store.ts';
import { deleteExpiredRows, reencryptEmails, startAuthServer } from './auth-server.ts';
import { passwordTokens, refreshTokens } from './flows.ts';

const smtp = useFixture(startSmtpSink);
const server = useFixture(() => startAuthServer({ SMTP_URL: smtp.url, MAIL_FROM: 'Bay Booking <mail@range.example>' }));

const openBrowser = (): FormBrowser => openFormBrowser([server.origin]);
const linkIn = (text: string): string => /https?:\/\/\S+token=\S+/.exec(text)?.[0] ?? '';
const password = 'seven unusual lamps';
const newPassword = 'eight quiet harbours';

/** Registers the user. `visitor` is the browser of the user, who is signed in there. */
async function register(name: string, domain = 'example.org'): Promise<{ visitor: FormBrowser; username: string }> {
  const visitor = openBrowser();
  const username = `${name}@${domain}`;
  await visitor.submit('/register', { name: 'Rita Reader', username, password });
  return { visitor, username };
}

/** Requests a password reset, and returns the link in the e-mail. */
async function requestReset(username: string): Promise<string> {
  const visitor = openBrowser();
  const response = await visitor.submit('/reset-password', { username });
  expect(response.title).toMatch(/^Check your e-mail/);
  const mail = await smtp.mailTo(username, ({ subject }) => subject === 'Choose a new password');
  return linkIn(mail.text);
}

/** Resets the password to `newPassword` in a new browser. Returns the last page. */
const reset = async (username: string, visitor = openBrowser()): Promise<Page> =>
  visitor.submit(await requestReset(username), { password: newPassword });

const requestTokens = (username: string, entered: string) => passwordTokens(server, { username, password: entered });

/** A user is locked out after fewer failed attempts than this number. */
const lockoutAttempts = 14;
const lockOut = (username: string) =>
  Promise.all(Array.from({ length: lockoutAttempts }, () => requestTokens(username, 'wrong')));

describe('registrations', () => {
  test('a registration sends an e-mail whose link alone confirms nothing; the button on its page does so once', async () => {
    const { visitor, username } = await register('confirm');
    const mail = await smtp.mailTo(username);
    const link = linkIn(mail.text);
    expect(mail).toMatchObject({ from: 'mail@range.example', subject: 'Confirm your e-mail address' });
    expect(mail.html).toContain(link);
    expect(mail.text).not.toContain(password);
    await fetch(link, { method: 'HEAD' });
    for (let visit = 0; visit < 2; visit++) expect((await openBrowser().open(link)).status).toBe(200);
    expect((await visitor.open('/account')).html).toContain('not confirmed');
    const reader = openBrowser();
    const form = await reader.open(link);
    expect((await reader.send(form, {}, 'Confirm my address')).title).toMatch(/^Your address is confirmed/);
    expect((await visitor.open('/account')).html).not.toContain('not confirmed');
    expect((await reader.send(form, {}, 'Confirm my address')).status).toBe(410);
    expect((await reader.open(link)).status).toBe(410);
  });

  test('the owner of the address can end a registration by somebody else with “This was not me”', async () => {
    const { visitor, username } = await register('stranger');
    const before = await requestTokens(username, password);
    await server.db.raw(
      `insert into social_identity (provider, subject, account_id, email)
       select 'google', 'stranger', id, 'mallory@example.org' from account where username = ?`,
      [username],
    );
    const owner = openBrowser();
    const page = await owner.open(linkIn((await smtp.mailTo(username)).text));
    expect(page.html).toContain('mallory@example.org');
    expect((await owner.send(page, {}, 'This was not me')).title).toMatch(/^Nobody can sign in/);
    expect((await visitor.open('/account')).title).toMatch(/^Sign in/);
    expect(await requestTokens(username, password)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await refreshTokens(server, before)).toMatchObject({ status: 400 });
    expect(await server.db('social_identity').where({ subject: 'stranger' })).toEqual([]);
    await owner.submit(await requestReset(username), { password: newPassword });
    expect(await requestTokens(username, newPassword)).toMatchObject({ status: 200 });
  });

  test('the name of the user adds no link and no header to the e-mail', async () => {
    const visitor = openBrowser();
    const [name, username] = ['win at https://evil.example or mail me@evil.example', 'spam@example.org'];
    const withHeader = { name: `${name}\r\nBcc: all@example.org`, username, password };
    const rejected = await visitor.submit('/register', withHeader);
    expect(rejected.status).toBe(400);
    await visitor.send(rejected, { name, username, password });
    const mail = await smtp.mailTo(username);
    expect(mail.to).toEqual([username]);
    expect(mail.text + mail.html).not.toContain('evil.example');
  });

  test('only an e-mail to a confirmed address contains the name of the user', async () => {
    const name = 'You have won a set of golf clubs, call 0800 123 456 now';
    const username = 'winner@example.org';
    await openBrowser().submit('/register', { name, username, password });
    const registration = await smtp.mailTo(username);
    expect(registration.text).toMatch(/^Hello,/);
    await requestReset(username);
    const reset = await smtp.mailTo(username, ({ subject }) => subject === 'Choose a new password');
    for (const { subject, text, html } of [registration, reset]) expect(subject + text + html).not.toContain('0800');
    await openBrowser().submit(linkIn(registration.text), {}, 'Confirm my address');
    await requestReset(username);
    await smtp.mailTo(username, ({ subject, text }) => subject === 'Choose a new password' && text.includes(name));
  });

  test('the user can request another link, and the first link then no longer works', async () => {
    const { visitor, username } = await register('another');
    const first = linkIn((await smtp.mailTo(username)).text);
    await visitor.submit('/account', {}, 'Send me a new link');
    const second = await smtp.mailTo(username, ({ text }) => linkIn(text) !== first);
    expect((await openBrowser().open(first)).status).toBe(410);
    expect((await openBrowser().open(linkIn(second.text))).title).toMatch(/^Confirm your address/);
  });
});

describe('password resets', () => {
  test('a password reset changes the password once, ends every session and token, and informs the owner', async () => {
    const { visitor, username } = await register('reset');
    const before = await requestTokens(username, password);
    expect(before.status).toBe(200);
    const link = await requestReset(username);
    const resetBrowser = openBrowser();
    const form = await resetBrowser.open(link);
    expect(form.title).toMatch(/^Choose a new password/);
    const changed = await resetBrowser.send(form, { password: newPassword });
    expect(changed.title).toMatch(/^Your password was changed/);

    expect(await requestTokens(username, password)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await requestTokens(username, newPassword)).toMatchObject({ status: 200 });
    expect(await refreshTokens(server, before)).toMatchObject({ status: 400 });
    expect((await visitor.open('/account')).title).toMatch(/^Sign in/);
    await smtp.mailTo(username, ({ subject }) => subject === 'Your password was changed');

    expect((await resetBrowser.open(link)).status).toBe(410);
    expect((await resetBrowser.send(form, { password: 'nine quiet harbours' })).status).toBe(410);
  });

  test('a password reset succeeds once if a link is used several times in parallel', async () => {
    const { username } = await register('race');
    const link = await requestReset(username);
    const visitors = Array.from({ length: 6 }, openBrowser);
    const forms = await Promise.all(visitors.map((visitor) => visitor.open(link)));
    const responses = await Promise.all(
      visitors.map((visitor, n) => visitor.send(forms[n] as Page, { password: `${n} quiet harbours` })),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('the link of a password reset no longer works after a change of the password', async () => {
    const { visitor, username } = await register('changed');
    const link = await requestReset(username);
    const form = await openBrowser().open(link);
    await visitor.submit('/account', { password, newPassword });
    expect((await openBrowser().open(link)).status).toBe(410);
    expect((await openBrowser().send(form, { password: 'nine quiet harbours' })).status).not.toBe(200);
    expect(await requestTokens(username, newPassword)).toMatchObject({ status: 200 });
  });

  test.each([
    ['address', { email: 'elsewhere@example.org' }],
    ['password', { password: 'ten quiet harbours' }],
  ])('the link of a password reset no longer works after an import has changed the %s', async (attribute, change) => {
    const { username } = await register(`import-${attribute}`);
    const link = await requestReset(username);
    const account = await server.db('account').where({ username }).first('id', 'username');
    await server.load({ accounts: [account] });
    expect((await openBrowser().open(link)).status).toBe(200);
    await server.load({ accounts: [{ ...account, ...change }] });
    expect((await openBrowser().open(link)).status).toBe(410);
  });

  test('a password reset rejects an expired link', async () => {
    const { username } = await register('expired');
    const link = await requestReset(username);
    await server.db.raw("update one_time_link set expires_at = now() - interval '1 second'");
    expect((await openBrowser().open(link)).status).toBe(410);
  });

  test('neither the database nor the log contains the token of a link', async () => {
    const { username } = await register('hashed');
    const token = new URL(await requestReset(username)).searchParams.get('token') ?? 'none';
    expect(JSON.stringify(await server.db('one_time_link'))).not.toContain(token);
    await server.auth.waitUntilIdle();
    expect(server.log.join('\n')).not.toContain(token);
  });

  test('if the limit of the recipient is reached, the e-mail repeats the link that still works', async () => {
    const { username } = await register('used-up');
    const request = async () => {
      await openBrowser().submit('/reset-password', { username });
      await server.auth.waitUntilIdle();
    };
    const links = () =>
      smtp
        .mails()
        .filter(({ to, subject }) => to.includes(username) && subject === 'Choose a new password')
        .map(({ text }) => linkIn(text));
    // A recipient gets at most five e-mails with new links in an hour. The registration sends the first one, and the
    // first four requests send the others. The fifth request therefore repeats the link of the fourth.
    for (let n = 0; n < 5; n++) await request();
    await eventually(async () => links().length === 5);
    expect(new Set(links()).size).toBe(4);
    expect((await openBrowser().open(String(links().at(-1)))).status).toBe(200);
  });

  test('a link that is mailed again works while KEY_ENCRYPTION_KEY is changed, and is replaced afterwards', async () => {
    const { username: email } = await register('rotated');
    const { id: accountId } = await server.db('account').where({ username: email }).first();
    const link = { accountId, email, purpose: 'reset-password', lifetimeSeconds: 60 } as const;
    const [old, added] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const linksOf = (...keys: [Buffer, ...Buffer[]]) => createOneTimeLinks({ db: server.db, keys });
    const token = await linksOf(old).issue(link);
    expect(await linksOf(added, old).repeat(link)).toBe(token);
    const replaced = await linksOf(added).repeat(link);
    const find = (token: string) => linksOf(added).find('reset-password', token);
    expect([await find(token), await find(replaced)]).toEqual([undefined, expect.objectContaining({ accountId })]);
  });

  test('a password reset of a service account lists its tokens, and offers to revoke them', async () => {
    const visitor = openBrowser();
    const done = await reset('bot@north.example', visitor);
    expect(done.html).toContain('These personal access tokens still work');
    const review = await visitor.open(linkTo(done, 'Review and revoke tokens'));
    expect(review.html).toContain('demo-pat-north');
  });

  test('a password reset ends a lockout and signs the user in, and others cannot lock out this browser afterwards', async () => {
    const { username } = await register('signed-in');
    await lockOut(username);
    expect(await requestTokens(username, password)).toMatchObject({ status: 429 });
    const visitor = openBrowser();
    const done = await reset(username, visitor);
    expect(done.title).toMatch(/^Your password was changed/);
    expect((await visitor.open('/account')).title).toMatch(/^Your account/);
    expect(await requestTokens(username, newPassword)).toMatchObject({ status: 200 });
    await lockOut(username);
    await visitor.submit('/account', {}, 'Sign out');
    expect((await visitor.submit('/sign-in', { username, password: newPassword })).title).toMatch(/^Your account/);
  });
});

describe('the ways to sign in that a password reset removes', () => {
  /** Adds a passkey, a recovery code and a social identity, as if the address had been confirmed before. */
  const addCredentials = async (username: string, name: string) =>
    server.db.raw(
      `with a as (select id from account where username = :username),
            p as (insert into passkey (id, account_id, name, public_key, transports)
                  select :name, id, :name, '', '{}' from a),
            s as (insert into social_identity (provider, subject, account_id, created_at)
                  select 'google', :name, id, now() from a)
       insert into recovery_code (account_id, code_hash, salt) select id, :name, '' from a`,
      { username, name },
    );
  const credentialsOf = async (username: string) => {
    const { rows } = await server.db.raw(
      `select array(select p.id from passkey p where p.account_id = a.id) as passkeys,
              array(select s.subject from social_identity s where s.account_id = a.id) as identities,
              (select count(*)::int from recovery_code r where r.account_id = a.id) as codes
         from account a where username = ?`,
      [username],
    );
    return rows[0];
  };

  test('if nobody has confirmed the address: every one, and every session, and the reset asks for none', async () => {
    const { visitor, username } = await register('squatted');
    await addCredentials(username, 'squatter');
    expect((await reset(username)).title).toMatch(/^Your password was changed/);
    expect(await credentialsOf(username)).toEqual({ passkeys: [], identities: [], codes: 0 });
    expect((await visitor.open('/account')).title).toMatch(/^Sign in/);
  });

  test('after “Confirm my address”, whose page names them: those from before, and no later ones', async () => {
    const { username } = await register('squatted-confirmed');
    await addCredentials(username, 'squatter-phone');
    const reader = openBrowser();
    const page = await reader.open(linkIn((await smtp.mailTo(username)).text));
    expect(page.html).toContain('Passkey: squatter-phone');
    expect(page.html).toContain('<li>Password</li>');
    await reader.send(page, {}, 'Confirm my address');
    await addCredentials(username, 'owner-phone');
    expect((await reset(username)).url.pathname).toBe('/sign-in/second-factor');
    expect(await credentialsOf(username)).toEqual({ passkeys: ['owner-phone'], identities: ['owner-phone'], codes: 0 });
  });
});

describe('the outbox', () => {
  /** Returns the value of the metric whose name and labels begin with this text. */
  const metric = async (prefix: string): Promise<number> => {
    const lines = (await (await fetch(`${server.origin}/metrics`)).text()).split('\n');
    return Number(lines.find((line) => line.startsWith(prefix))?.split(' ')[1]);
  };
  const isQueueEmpty = async () => (await server.db('outbox')).length === 0;
  /**
   * Waits until attempts with this number have failed, and puts off the next ones. During an attempt, `next_try_at` is
   * up to 120 s away, and its end overwrites what a test has written there.
   */
  const failedAttempt = (tries: number) =>
    eventually(() =>
      server
        .db('outbox')
        .where({ tries })
        .whereRaw("next_try_at not between now() + interval '90 s' and now() + interval '120 s'")
        .update({ next_try_at: server.db.raw("now() + interval '1 day'") }),
    );

  test('the outbox keeps an e-mail that the mail server rejects temporarily, encrypted, and sends it later', async () => {
    smtp.rejectWith(451);
    const { username } = await register('later');
    await failedAttempt(1);
    expect(server.log.join()).toContain('e-mail could not be sent');
    expect(JSON.stringify(await server.db('outbox'))).not.toMatch(/token=|confirm/i);
    const [old, added] = [Buffer.alloc(32, 7), Buffer.alloc(32, 9)];
    await reencryptEmails(server.db, [old], added);
    await reencryptEmails(server.db, [added], old);
    await server.db.raw("update outbox set created_at = now() - interval '2 hours'");
    expect(await metric('auth_outbox_oldest_seconds{kind="mail"')).toBeGreaterThan(7000);
    expect(await metric('auth_outbox_total{kind="mail",result="retried"')).toBeGreaterThan(0);
    smtp.acceptAgain();
    await server.db.raw('update outbox set next_try_at = now()');
    // Every new e-mail starts a check of the outbox.
    await register('next');
    await smtp.mailTo(username);
    await eventually(isQueueEmpty);
    expect(await metric('auth_outbox_total{kind="mail",result="sent"')).toBeGreaterThan(0);
    expect(await metric('auth_outbox_oldest_seconds{kind="mail"')).toBe(0);
  });

  test('the outbox tries again for a day, and then gives up', async () => {
    smtp.rejectWith(451);
    await register('day');
    await failedAttempt(1);
    await server.db.raw('update outbox set tries = 32, next_try_at = now()');
    await register('waker');
    // An attempt after 23 hours is followed by another one.
    await failedAttempt(33);
    await server.db.raw('update outbox set next_try_at = now() where tries = 33');
    await register('waker');
    await eventually(async () => !(await server.db('outbox').where('tries', '>', 30).first()));
    smtp.acceptAgain();
    await server.db.raw('delete from outbox');
    expect(await metric('auth_outbox_total{kind="mail",result="failed"')).toBeGreaterThan(0);
  });

  test('the outbox deletes an e-mail that the mail server rejects permanently', async () => {
    smtp.rejectWith(550);
    await register('never');
    await eventually(async () => server.log.some((line) => line.includes('"givenUp":true')));
    smtp.acceptAgain();
    await eventually(isQueueEmpty);
  });

  test('the outbox deletes an e-mail that was sent, to the domain in its canonical form', async () => {
    await register('cléan', 'ZU\u0308RICH.example');
    await smtp.mailTo('cléan@zürich.example');
    await eventually(isQueueEmpty);
  });
});

test('expired links, social sign-ins, counters, sessions, forms and old invitations are deleted', async () => {
  await register('old');
  // Values that only fill a column have one letter. `guard_count.expire` is a Unix time in milliseconds, so 1 is in the
  // past. A row of `browser_session` has expired when its session in `oidc_artifact` no longer exists.
  await server.db.raw(`
    update one_time_link set expires_at = now() - interval '2 hours';
    insert into social_attempt (state_sha256, browser_sha256, provider, nonce, code_verifier, expires_at)
          values ('s', 'b', 'google', 'n', 'v', now() - interval '2 hours');
    update guard_count set expire = 1;
    update browser_session set seen_at = now() - interval '40 days';
    delete from oidc_artifact where model = 'Session';
    insert into used_form (id_sha256, used_at)
          values ('expired', now() - interval '32 days'), ('kept', now() - interval '30 days');
    insert into invitation (id, facility_id, email, email_key, role, token_sha256, expires_at, withdrawn_at)
    select id, 'fac-north', id, id, 'staff', id, now(), now() - make_interval(days => days)
      from (values ('expired', 91), ('kept', 89)) as i (id, days)`);
  await deleteExpiredRows(server.db);
  const { rows } = await server.db.raw(`select
    (select count(*) from one_time_link) + (select count(*) from social_attempt) +
    (select count(*) from guard_count) + (select count(*) from browser_session) as n`);
  expect(Number(rows[0].n)).toBe(0);
  const kept = await server.db.raw('select id_sha256 as id from used_form union all select id from invitation');
  expect(kept.rows).toEqual([{ id: 'kept' }, { id: 'kept' }]);
});
