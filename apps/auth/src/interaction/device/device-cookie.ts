// Issues and checks the device cookie, which marks a browser in which an account has signed in before.
//
// Failed sign-ins in a marked browser have their own count. Nobody else can therefore lock the owner of an account out
// of this browser (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). The cookie signs nobody in. The
// cookie becomes invalid when the password changes, because somebody else may have known the old password and signed in
// with it.
//
// The device cookie has nothing to do with the sign-in for a device without a keyboard (device-pages.ts).
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Account } from '../../accounts/store.ts';
import type { BrowserCookies } from '../../oidc/cookies.ts';

const cookieName = '_device';
/** A year. */
const lifetimeSeconds = 365 * 24 * 3600;
/** The maximum number of accounts in one cookie. A new account replaces the oldest one. */
const maxAccounts = 5;
/**
 * Matches an entry of the cookie, `nonce:signature`, where both parts are base64url. Each entry belongs to one account.
 * The nonce is the id of the browser for this account.
 */
const entryFormat = /^[\w-]{24}:[\w-]{43}$/;

export type DeviceCookies = ReturnType<typeof createDeviceCookies>;

type SignedInAccount = Pick<Account, 'id' | 'passwordHash'>;

export interface DeviceCookieOptions {
  readonly cookies: BrowserCookies;
  /** The first key signs new cookies. Cookies that were signed with any of the keys are accepted. */
  readonly keys: readonly string[];
}

export function createDeviceCookies({ cookies, keys }: DeviceCookieOptions) {
  const sign = (key: string, nonce: string, { id, passwordHash }: SignedInAccount): string =>
    createHmac('sha256', key).update(`device\0${nonce}\0${id}\0${passwordHash}`).digest('base64url');

  /** Splits the value of the cookie at its dots. Returns up to `maxAccounts` entries that have the right format. */
  const entriesOf = (request: Request, response: Response): string[] =>
    (cookies.get(request, response, cookieName) ?? '')
      .split('.')
      .filter((entry) => entryFormat.test(entry))
      .slice(0, maxAccounts);

  /** `entry` must have the format `entryFormat`. Its signature then has the length that `timingSafeEqual` requires. */
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
      cookies.set(request, response, { name: cookieName, value: entries.join('.'), maxAge: lifetimeSeconds });
    },

    /**
     * Returns the id of the browser for this account. Returns undefined if the account has not signed in with this
     * browser since the password of the account last changed.
     */
    find(request: Request, response: Response, account: SignedInAccount): string | undefined {
      return entriesOf(request, response)
        .find((entry) => belongsTo(entry, account))
        ?.split(':')[0];
    },
  };
}
