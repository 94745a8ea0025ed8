// Finds, starts and ends the sign-in session that oidc-provider stores for a browser. Our own pages and the
// authorization endpoint use the same session. A user who signs in on a page is therefore signed in for clients too.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { EndSession } from './storage/ended-sessions.ts';

/** In seconds. A session that is not used for this time ends. */
const idleLimit = 14 * 24 * 3600;
/** In seconds. A session ends this time after the sign-in, even if it is used. */
const absoluteLimit = 30 * 24 * 3600;

/** In seconds since 1970. */
const now = (): number => Math.floor(Date.now() / 1000);

/**
 * The setting `ttl.Session` of oidc-provider. Returns the remaining lifetime in seconds of a session that is being
 * used. `loginTs` is the time of the last sign-in in seconds since 1970. It is undefined if nobody is signed in.
 */
export function sessionTtl(_ctx: unknown, session: { readonly loginTs?: number | undefined }): number {
  const age = session.loginTs === undefined ? 0 : now() - session.loginTs;
  return Math.max(1, Math.min(idleLimit, absoluteLimit - age));
}

export interface ProviderSession {
  /** Identifies the session as long as it exists. The session cookie, however, changes at every sign-in. */
  readonly uid: string;
  readonly accountId: string;
  /** The time of the last sign-in, in seconds since 1970. */
  readonly signedInAt: number;
}

/** The account of a user who has just signed in, and how the user signed in. */
export interface ProvenIdentity {
  readonly accountId: string;
  /** The authentication context class (claim `acr`): `idp:NAME` after a social sign-in. */
  readonly acr?: string | undefined;
  /** The authentication methods (claim `amr`), such as `pwd` for a password (RFC 8176). */
  readonly amr: readonly string[];
}

export type ProviderSessions = ReturnType<typeof createProviderSessions>;

export interface ProviderSessionOptions {
  readonly provider: () => Provider;
  readonly revokeGrant: (grantId: string) => Promise<void>;
  readonly endSession: EndSession;
}

export function createProviderSessions({ provider, revokeGrant, endSession }: ProviderSessionOptions) {
  // `as never`: oidc-provider's types require the context of a request that the library itself serves.
  const contextOf = (request: IncomingMessage, response: ServerResponse) => provider().createContext(request, response);
  const sessionOf = (request: IncomingMessage, response: ServerResponse) =>
    provider().Session.get(contextOf(request, response) as never);

  /**
   * Revokes the grants of a session, as oidc-provider does when a client requests the sign-out. `authorizations` is a
   * field of the session, which contains one entry for each client. The library sets `persistsLogout` if the tokens of
   * the client stay valid after the sign-out (`expiresWithSession` in provider.ts).
   */
  const revokeSessionGrants = async (authorizations: object | undefined): Promise<void> => {
    const entries = Object.values(authorizations ?? {}) as { grantId?: string; persistsLogout?: boolean }[];
    await Promise.all(
      entries.map(({ grantId, persistsLogout }) => (grantId && !persistsLogout ? revokeGrant(grantId) : undefined)),
    );
  };

  return {
    /** Returns undefined when nobody is signed in. */
    async find(request: IncomingMessage, response: ServerResponse): Promise<ProviderSession | undefined> {
      const { accountId, loginTs, uid } = await sessionOf(request, response);
      return accountId && loginTs !== undefined ? { uid, accountId, signedInAt: loginTs } : undefined;
    },

    /** Signs the account in. If another account was signed in, ends the session of that account. */
    async start(
      request: IncomingMessage,
      response: ServerResponse,
      { accountId, acr, amr }: ProvenIdentity,
    ): Promise<ProviderSession> {
      const session = await sessionOf(request, response);
      if (session.accountId && session.accountId !== accountId) {
        await revokeSessionGrants(session.authorizations);
        await endSession(session.jti);
        session.authorizations = undefined;
      }
      const signedInAt = now();
      session.loginAccount({ accountId, loginTs: signedInAt, acr, amr: [...amr] });
      // A new cookie value at every sign-in prevents session fixation.
      session.resetIdentifier();
      await session.save(sessionTtl(undefined, session));
      contextOf(request, response).cookies.set(provider().cookieName('session'), session.jti, {
        httpOnly: true,
        sameSite: 'lax',
        signed: true,
        maxAge: idleLimit * 1000,
      });
      return { uid: session.uid, accountId, signedInAt };
    },

    /**
     * Signs the user out. Returns the `uid` of the session, so that the caller can delete its own record of the
     * session.
     */
    async end(request: IncomingMessage, response: ServerResponse): Promise<{ readonly uid: string }> {
      const session = await sessionOf(request, response);
      await revokeSessionGrants(session.authorizations);
      if (session.accountId) await endSession(session.jti);
      contextOf(request, response).cookies.set(provider().cookieName('session'), null, { signed: true });
      return { uid: session.uid };
    },
  };
}
