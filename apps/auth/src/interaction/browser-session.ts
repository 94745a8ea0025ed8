// Finds, starts and ends the session of a browser. A session consists of the session of oidc-provider and of our own
// row in `browser_session`. The row contains the browser, the IP address and the time of the last use. With these
// facts, users recognise their sessions on the page "Your account".
import type { Request, Response } from 'express';
import type { Account, AccountStore } from '../accounts/store.ts';
import type { SignedIn } from '../html/signed-in.ts';
import type { ProvenIdentity, ProviderSessions } from '../oidc/sessions.ts';
import type { DeviceCookies } from './device-cookie.ts';
import type { SessionStore } from './session-store.ts';

/** In seconds. If a session was not used for this time, pages ask for the password again. */
const idleLimit = 2 * 3600;
/** In seconds. A sign-in that is less than 10 minutes old counts as fresh (docs/behaviour.md, "Pages"). */
const freshLimit = 10 * 60;

const now = (): number => Math.floor(Date.now() / 1000);

export type NewSession = Omit<ProvenIdentity, 'accountId'> & { readonly account: Account };

export type BrowserSessions = ReturnType<typeof createBrowserSessions>;

export interface BrowserSessionOptions {
  readonly providerSessions: ProviderSessions;
  readonly accounts: Pick<AccountStore, 'findById'>;
  readonly store: SessionStore;
  readonly devices: DeviceCookies;
}

export function createBrowserSessions({ providerSessions, accounts, store, devices }: BrowserSessionOptions) {
  /** Several handlers of a request need the session. The cache ensures that it is read from the database once. */
  const cache = new WeakMap<Request, Promise<SignedIn | undefined>>();

  const find = async (request: Request, response: Response): Promise<SignedIn | undefined> => {
    const session = await providerSessions.find(request, response);
    if (!session) return undefined;
    const { uid, accountId, signedInAt } = session;
    const [account, lastUsedAt] = await Promise.all([
      accounts.findById(accountId),
      store.recordUse({ uid, accountId, idleLimit }),
    ]);
    if (!account || account.disabledAt) return undefined;
    return {
      account,
      uid,
      signedInAt,
      isFresh: now() - signedInAt < freshLimit,
      isIdle: now() - Math.max(lastUsedAt ?? 0, signedInAt) > idleLimit,
    };
  };

  return {
    /** Returns undefined when nobody is signed in, or when the account is disabled. */
    current(request: Request, response: Response): Promise<SignedIn | undefined> {
      const found = cache.get(request) ?? find(request, response);
      cache.set(request, found);
      return found;
    },

    /**
     * Returns the id of this browser for an account that has signed in here before, and undefined for other accounts.
     */
    deviceOf: devices.find,

    /**
     * Gives this browser a new device cookie. To be called when the password of the signed-in account has changed,
     * because earlier device cookies are then no longer valid.
     */
    renewDevice: devices.issue,

    /** Signs the account in. If another account was signed in, its session ends. */
    async start(
      request: Request,
      response: Response,
      { account, acr, amr }: NewSession,
    ): Promise<{ signedInAt: number }> {
      const { uid, signedInAt } = await providerSessions.start(request, response, { accountId: account.id, acr, amr });
      await store.add({ uid, accountId: account.id, userAgent: request.get('user-agent'), address: request.ip });
      devices.issue(request, response, account);
      cache.delete(request);
      return { signedInAt };
    },

    async end(request: Request, response: Response): Promise<void> {
      const { uid } = await providerSessions.end(request, response);
      await store.delete(uid);
      cache.delete(request);
    },
  };
}
