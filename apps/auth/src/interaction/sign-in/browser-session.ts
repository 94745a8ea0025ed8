// Finds, starts and ends the session of a browser. A session consists of two records: the session of oidc-provider, and
// our own row in the table `browser_session`. Our row contains the user agent, the IP address and the time of the last
// use. With these facts, users recognise their sessions on the page "Your account".
import type { Request, Response } from 'express';
import type { Account, AccountStore } from '../../accounts/store.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { ProvenIdentity, ProviderSessions } from '../../oidc/sessions.ts';
import type { DeviceCookies } from '../device/device-cookie.ts';
import type { SessionStore } from './session-store.ts';

/** The time after which an unused session is idle. The user of an idle session must sign in again. */
const idleLimitSeconds = 2 * 3600;
/**
 * The time for which a sign-in is fresh (docs/behaviour.md, "Pages"). Sensitive actions, such as creating a personal
 * access token or linking a social provider, require a fresh sign-in. If the sign-in is older, the user must sign in
 * again, because somebody else may be using the browser of the user.
 */
const freshLimitSeconds = 10 * 60;

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
  /** The session of each request. Several handlers need the session, but it is read from the database only once. */
  const cache = new WeakMap<Request, Promise<SignedIn | undefined>>();

  const find = async (request: Request, response: Response): Promise<SignedIn | undefined> => {
    const session = await providerSessions.find(request, response);
    if (!session) return undefined;
    const { uid, accountId, signedInAt } = session;
    // `recordUse` returns the time of the last use before this request. It does not record the use of an idle session.
    const [account, lastUsedAt] = await Promise.all([
      accounts.findById(accountId),
      store.recordUse(uid, accountId, idleLimitSeconds),
    ]);
    if (!account || account.disabledAt) return undefined;
    return {
      account,
      sessionId: uid,
      signedInAt,
      isFresh: now() - signedInAt < freshLimitSeconds,
      isIdle: now() - Math.max(lastUsedAt ?? 0, signedInAt) > idleLimitSeconds,
    };
  };

  return {
    /** Returns undefined if nobody is signed in, or if the account is disabled. */
    current(request: Request, response: Response): Promise<SignedIn | undefined> {
      const found = cache.get(request) ?? find(request, response);
      cache.set(request, found);
      return found;
    },

    /** Returns the id of this browser if the account has signed in with it since the password last changed. */
    deviceOf: devices.find,

    /**
     * Gives this browser a new device cookie. A password change makes all earlier device cookies of the account
     * invalid, so the code that changes a password must call this function or `start` afterwards.
     */
    renewDevice: devices.issue,

    /** Signs the account in, and issues a device cookie. If another account was signed in, its session ends. */
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
