// Issues and checks the device cookie, which marks a browser that an account has signed in with before.
//
// Failed sign-ins in a marked browser have their own count, so nobody else can lock the owner of an account out of it
// (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). The cookie signs nobody in. It becomes invalid when
// the password changes, because somebody else may have known the old password.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Account } from '../../accounts/store.ts';
import type { AuthConfig } from '../../config.ts';
import type { BrowserCookies } from '../../http/browser-cookies.ts';

const cookieName = '_device';
const yearSeconds = 365 * 24 * 3600;
/** The maximum number of accounts in one cookie. A new account replaces the oldest one. */
const maxAccounts = 5;
/** An entry of the cookie is `nonce:signature`. The nonce is the id of the browser for one account. */
const entryFormat = /^[\w-]{24}:[\w-]{43}$/;

export type DeviceCookies = ReturnType<typeof createDeviceCookies>;

type SignedInAccount = Pick<Account, 'id' | 'passwordHash'>;

/** The first of COOKIE_KEYS signs new cookies. Cookies that were signed with any of the keys are accepted. */
export function createDeviceCookies(cookies: BrowserCookies, { cookieKeys: keys }: AuthConfig) {
  const sign = (key: string, nonce: string, { id, passwordHash }: SignedInAccount): string =>
    createHmac('sha256', key).update(`device\0${nonce}\0${id}\0${passwordHash}`).digest('base64url');

  const entriesOf = (request: Request, response: Response): string[] =>
    (cookies.get(request, response, cookieName) ?? '')
      .split('.')
      .filter((entry) => entryFormat.test(entry))
      .slice(0, maxAccounts);

  /** The format of the entry ensures the length of the signature that `timingSafeEqual` requires. */
  const belongsTo = (entry: string, account: SignedInAccount): boolean => {
    const [nonce = '', signature = ''] = entry.split(':');
    return keys.some((key) => timingSafeEqual(Buffer.from(signature), Buffer.from(sign(key, nonce, account))));
  };

  return {
    /** Records in the cookie that the account has signed in with this browser. */
    issue(request: Request, response: Response, account: SignedInAccount): void {
      const nonce = randomBytes(18).toString('base64url');
      const others = entriesOf(request, response).filter((entry) => !belongsTo(entry, account));
      const entries = [`${nonce}:${sign(keys[0] as string, nonce, account)}`, ...others].slice(0, maxAccounts);
      cookies.set(request, response, { name: cookieName, value: entries.join('.'), maxAge: yearSeconds });
    },

    /** Returns the id of the browser, if the account has signed in with it since its password last changed. */
    find(request: Request, response: Response, account: SignedInAccount): string | undefined {
      return entriesOf(request, response)
        .find((entry) => belongsTo(entry, account))
        ?.split(':')[0];
    },
  };
}
