// Finds and ends the session of a browser. A session consists of the session of oidc-provider, and of our row in
// `browser_session` with the user agent, the IP address and the last use, which the page "Your account" shows.
import type { Request, Response } from 'express';
import type { AccountStore } from '../../accounts/store.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { ProviderSessions } from '../../oidc/sessions.ts';
import type { SessionStore } from './session-store.ts';

/** Sensitive actions require a sign-in that is not older (docs/behaviour-auth.md, "Pages"). */
const freshLimitSeconds = 10 * 60;

const now = (): number => Math.floor(Date.now() / 1000);

export type BrowserSessions = ReturnType<typeof createBrowserSessions>;

export function createBrowserSessions({
  accounts,
  sessionStore,
  providerSessions,
}: {
  readonly accounts: AccountStore;
  readonly sessionStore: SessionStore;
  readonly providerSessions: ProviderSessions;
}) {
  /** Several handlers need the session of a request, but it is read only once. */
  const cache = new WeakMap<Request, Promise<SignedIn | undefined>>();

  const find = async (request: Request, response: Response): Promise<SignedIn | undefined> => {
    const session = await providerSessions.find(request, response);
    if (!session) return undefined;
    const { uid, accountId, signedInAt, acr, amr } = session;
    const account = await accounts.findById(accountId);
    if (!account || account.disabledAt) return undefined;
    return { account, sessionId: uid, signedInAt, acr, amr, isFresh: now() - signedInAt < freshLimitSeconds };
  };

  return {
    /** Returns undefined if nobody is signed in, the session is idle, or the account is disabled. */
    current(request: Request, response: Response): Promise<SignedIn | undefined> {
      const found = cache.get(request) ?? find(request, response);
      cache.set(request, found);
      return found;
    },

    /** Makes `current` read the session again, because it has changed. */
    forget: (request: Request): void => {
      cache.delete(request);
    },

    /** Replaces what `current` has read, for a page after a change of the session in the same request. */
    set: (request: Request, signedIn: SignedIn): void => {
      cache.set(request, Promise.resolve({ ...signedIn, isFresh: true }));
    },

    async end(request: Request, response: Response): Promise<void> {
      const { uid } = await providerSessions.end(request, response);
      await sessionStore.delete(uid);
      cache.delete(request);
    },
  };
}
