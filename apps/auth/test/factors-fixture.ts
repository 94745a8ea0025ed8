// Sets up authenticator apps for tests, and computes their codes.
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { eventually } from '@bay-booking/testkit/wait';
import { Secret, TOTP } from 'otpauth';
import { type AuthServer, mailsInLog } from './auth-server.ts';
import { registerUser, signInUser } from './test-users.ts';

const periodMs = 30_000;

/** Returns the code of the app now. The server also accepts the codes of one step before (`-1`) and after (`1`). */
export const codeOf = (secret: string, step = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + step * periodMs });

export const wrongCodeFor = (secret: string): string => {
  const valid = [-2, -1, 0, 1, 2].map((step) => codeOf(secret, step));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !valid.includes(code)) as string;
};

/** Changes the database as if the last code of every app had been used long ago. */
export const forgetUsedCodes = async ({ db }: AuthServer): Promise<void> => {
  await db.raw('update authenticator_app set last_step = 0');
};

/** Changes the database as if every user had confirmed the address. */
export const confirmAddresses = async ({ db }: AuthServer): Promise<void> => {
  await db.raw(`update account set email_verified = true, email_proven_at = coalesce(email_proven_at, now())
                 where email is not null`);
};

/** Waits for the newest mailed code in the log, which contains the e-mails of a server without `SMTP_URL`. */
export const codeInLog = (server: AuthServer, address: string): Promise<string> =>
  eventually(async () => {
    const isCode = /^\d{6}(?= is your code)/;
    const mail = mailsInLog(server).findLast(({ to, subject }) => to === address && isCode.test(subject));
    return mail?.subject.slice(0, 6);
  });

/** Returns the field `mailCode`, if the page asks for it. */
export async function mailCodeFor(
  server: AuthServer,
  { html }: Page,
  read: (server: AuthServer, address: string) => Promise<string> = codeInLog,
): Promise<{ mailCode?: string }> {
  const address = /We sent six digits to (\S+)\. They/.exec(html)?.[1];
  return address ? { mailCode: await read(server, address) } : {};
}

/**
 * Sets up an authenticator app on the page "Sign-in security" for a browser with a fresh sign-in. `code` is the code
 * that confirmed the set-up.
 */
export async function setUpApp(
  server: AuthServer,
  browser: FormBrowser,
  from = '/account/security/authenticator',
  readCode = codeInLog,
) {
  await confirmAddresses(server);
  const form = await browser.open(new URL(from, server.origin));
  const secret = (/id="secret"[^>]*>([^<]+)</.exec(form.html)?.[1] ?? '').replaceAll(' ', '');
  const mailCode = await mailCodeFor(server, form, readCode);
  const code = codeOf(secret);
  const page = await browser.send(form, { code, ...mailCode });
  const recoveryCodes = (/id="recovery-codes">([^<]+)</.exec(page.html)?.[1] ?? '').split('\n');
  return { secret, code, recoveryCodes, page };
}

/** The key of the authenticator app of `registerSecureUser`. */
export const appSecret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

/**
 * Adds a user with an authenticator app, whose current code can still be used. `browser` is signed in with both
 * factors, `other` with the password only.
 */
export async function registerSecureUser(server: AuthServer) {
  const { username, browser: other } = await registerUser(server);
  // A password reset removes the factors from before the address was confirmed.
  await confirmAddresses(server);
  const { id } = await server.db('account').where({ username }).first('id');
  // An import ends no session, unlike the set-up of the first factor.
  await server.load({ accounts: [{ id, username, totpSecret: appSecret, recoveryCodes: [] }] });
  const { browser, account } = await signInUser(server, username);
  await browser.send(account, { code: codeOf(appSecret) });
  await forgetUsedCodes(server);
  return { username, browser, other };
}
