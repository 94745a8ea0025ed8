// Who is signed in in this browser? The provider's own session, so that signing in anywhere signs in everywhere and signing out ends it
// all, plus a row for its owner to recognise the browser by. Its id changes at every sign-in (session fixation).
import type { Request, Response } from 'express';
import type { Account, AccountStore } from '../accounts/store.ts';
import type { ProviderSessions } from '../oidc/sessions.ts';
import type { SessionStore } from './session-store.ts';

/** Seconds. */
const limits = {
  /** Pages that change things ask to sign in again after so long without use. */
  idle: 2 * 3600,
  /** A sign-in younger than this needs no repeating before a secret is shown or changed. */
  fresh: 10 * 60,
};

const now = (): number => Math.floor(Date.now() / 1000);

export interface SignedIn {
  readonly account: Account;
  readonly uid: string;
  /** Seconds since 1970. */
  readonly signedInAt: number;
  readonly fresh: boolean;
  readonly idle: boolean;
}

export interface NewSession {
  readonly account: Account;
  /** `idp:NAME` after a social sign-in. */
  readonly acr?: string | undefined;
  readonly amr: readonly string[];
}

export type BrowserSessions = ReturnType<typeof createBrowserSessions>;

export interface BrowserSessionOptions {
  readonly providerSessions: ProviderSessions;
  readonly accounts: Pick<AccountStore, 'findById'>;
  readonly store: SessionStore;
}

export function createBrowserSessions({ providerSessions, accounts, store }: BrowserSessionOptions) {
  const known = new WeakMap<Request, Promise<SignedIn | undefined>>();

  const find = async (request: Request, response: Response): Promise<SignedIn | undefined> => {
    const session = await providerSessions.find(request, response);
    if (!session) return undefined;
    const { uid, accountId, signedInAt } = session;
    const [account, seenAt] = await Promise.all([
      accounts.findById(accountId),
      store.seen({ uid, accountId, idle: limits.idle }),
    ]);
    if (!account || account.disabledAt) return undefined;
    return {
      account,
      uid,
      signedInAt,
      fresh: now() - signedInAt < limits.fresh,
      idle: now() - Math.max(seenAt ?? 0, signedInAt) > limits.idle,
    };
  };

  return {
    current(request: Request, response: Response): Promise<SignedIn | undefined> {
      const found = known.get(request) ?? find(request, response);
      known.set(request, found);
      return found;
    },

    /** Signs in, whoever was signed in before. */
    async start(
      request: Request,
      response: Response,
      { account, acr, amr }: NewSession,
    ): Promise<{ signedInAt: number }> {
      const { uid, signedInAt } = await providerSessions.start(request, response, { accountId: account.id, acr, amr });
      await store.signedIn({
        uid,
        accountId: account.id,
        userAgent: request.get('user-agent'),
        address: request.ip,
      });
      known.delete(request);
      return { signedInAt };
    },

    async end(request: Request, response: Response): Promise<void> {
      const { uid } = await providerSessions.end(request, response);
      await store.forget(uid);
      known.delete(request);
    },
  };
}
