// Issues and checks the device cookie, which marks a browser in which an account has signed in before.
//
// Failed sign-ins of such a browser are counted apart from all others, so nobody else can lock the owner of an account
// out of it (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). The cookie proves an earlier sign-in, but
// does not sign anybody in. It ends when the password changes, because somebody else may have known the old one.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Account } from '../accounts/store.ts';
import type { BrowserCookies } from '../oidc/cookies.ts';

const cookieName = '_device';
/** Seconds. */
const lifetime = 365 * 24 * 3600;
/** Accounts that one browser is known for. The oldest is forgotten first. */
const maxAccounts = 5;
const entryFormat = /^[\w-]{24}:[\w-]{43}$/;

export type DeviceCookies = ReturnType<typeof createDeviceCookies>;

type DeviceOwner = Pick<Account, 'id' | 'passwordHash'>;

export interface DeviceCookieOptions {
  readonly cookies: BrowserCookies;
  /** The first key signs, and every key is accepted. */
  readonly keys: readonly string[];
}

export function createDeviceCookies({ cookies, keys }: DeviceCookieOptions) {
  const sign = (key: string, nonce: string, { id, passwordHash }: DeviceOwner): string =>
    createHmac('sha256', key).update(`device\0${nonce}\0${id}\0${passwordHash}`).digest('base64url');

  /** The value has an entry `nonce:signature` for each account. */
  const entriesOf = (request: Request, response: Response): string[] =>
    (cookies.get(request, response, cookieName) ?? '')
      .split('.')
      .filter((entry) => entryFormat.test(entry))
      .slice(0, maxAccounts);

  const isFor = (entry: string, account: DeviceOwner): boolean => {
    const [nonce = '', signature = ''] = entry.split(':');
    return keys.some((key) => timingSafeEqual(Buffer.from(signature), Buffer.from(sign(key, nonce, account))));
  };

  return {
    /** Marks the browser after a successful sign-in. */
    issue(request: Request, response: Response, account: DeviceOwner): void {
      const nonce = randomBytes(18).toString('base64url');
      const others = entriesOf(request, response).filter((entry) => !isFor(entry, account));
      const entries = [`${nonce}:${sign(keys[0] as string, nonce, account)}`, ...others].slice(0, maxAccounts);
      cookies.set(request, response, { name: cookieName, value: entries.join('.'), maxAge: lifetime });
    },

    /** Returns an id of the browser if the account has signed in there with its current password, else undefined. */
    find(request: Request, response: Response, account: DeviceOwner): string | undefined {
      return entriesOf(request, response)
        .find((entry) => isFor(entry, account))
        ?.split(':')[0];
    },
  };
}
