// Who is signed in in this browser? The provider's own session, so that signing in anywhere signs in everywhere and signing out ends it
// all, plus a row for its owner to recognise the browser by. Its id changes at every sign-in (session fixation).
import type { Request, Response } from 'express';
import type { Provider } from 'oidc-provider';
import type { Account, AccountStore } from '../accounts/store.ts';
import type { SessionStore } from './session-store.ts';

/** Seconds. */
export const sessionLimits = {
  /** Without any use, the session ends; with use, it ends all the same. */
  unused: 14 * 24 * 3600,
  absolute: 30 * 24 * 3600,
  /** Pages that change things ask to sign in again after so long without use. */
  idle: 2 * 3600,
  /** A sign-in younger than this needs no repeating before a secret is shown or changed. */
  fresh: 10 * 60,
};

const now = (): number => Math.floor(Date.now() / 1000);

/** How long the provider keeps a session from now on: each use prolongs it, but not beyond the absolute limit. */
export function sessionTtl(_ctx: unknown, session: { readonly loginTs?: number | undefined }): number {
  const age = session.loginTs === undefined ? 0 : now() - session.loginTs;
  return Math.max(1, Math.min(sessionLimits.unused, sessionLimits.absolute - age));
}

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
  readonly provider: () => Provider;
  readonly accounts: Pick<AccountStore, 'findById'>;
  readonly store: SessionStore;
  readonly revokeGrant: (grantId: string) => Promise<void>;
}

export function createBrowserSessions({ provider, accounts, store, revokeGrant }: BrowserSessionOptions) {
  const known = new WeakMap<Request, Promise<SignedIn | undefined>>();
  const contextOf = (request: Request, response: Response) => provider().createContext(request, response);
  const sessionOf = (request: Request, response: Response) =>
    provider().Session.get(contextOf(request, response) as never);

  const find = async (request: Request, response: Response): Promise<SignedIn | undefined> => {
    const session = await sessionOf(request, response);
    if (!session.accountId || session.loginTs === undefined) return undefined;
    const [account, seenAt] = await Promise.all([
      accounts.findById(session.accountId),
      store.seen({ uid: session.uid, accountId: session.accountId, idle: sessionLimits.idle }),
    ]);
    if (!account || account.disabledAt) return undefined;
    return {
      account,
      uid: session.uid,
      signedInAt: session.loginTs,
      fresh: now() - session.loginTs < sessionLimits.fresh,
      idle: now() - Math.max(seenAt ?? 0, session.loginTs) > sessionLimits.idle,
    };
  };

  /** Grants that were to end with the session, as the provider's own sign-out does it. */
  const revokeSessionGrants = async (authorizations: object | undefined): Promise<void> => {
    const entries = Object.values(authorizations ?? {}) as { grantId?: string; persistsLogout?: boolean }[];
    await Promise.all(
      entries.map(({ grantId, persistsLogout }) => (grantId && !persistsLogout ? revokeGrant(grantId) : undefined)),
    );
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
      const session = await sessionOf(request, response);
      if (session.accountId && session.accountId !== account.id) {
        await revokeSessionGrants(session.authorizations);
        session.authorizations = undefined;
      }
      const signedInAt = now();
      session.loginAccount({ accountId: account.id, loginTs: signedInAt, acr, amr: [...amr] });
      session.resetIdentifier();
      await session.save(sessionTtl(undefined, session));
      contextOf(request, response).cookies.set(provider().cookieName('session'), session.jti, {
        httpOnly: true,
        sameSite: 'lax',
        signed: true,
        maxAge: sessionLimits.unused * 1000,
      });
      await store.signedIn({
        uid: session.uid,
        accountId: account.id,
        userAgent: request.get('user-agent'),
        address: request.ip,
      });
      known.delete(request);
      return { signedInAt };
    },

    async end(request: Request, response: Response): Promise<void> {
      const session = await sessionOf(request, response);
      await revokeSessionGrants(session.authorizations);
      if (session.accountId) await session.destroy();
      await store.forget(session.uid);
      contextOf(request, response).cookies.set(provider().cookieName('session'), null, { signed: true });
      known.delete(request);
    },
  };
}
