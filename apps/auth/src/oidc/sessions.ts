// Finds, starts and ends the session of a browser in oidc-provider: a user who signs in on our pages is signed in for
// clients too. Reads and writes our own unsigned cookies. The library adds `Secure` to them if the issuer is an https
// URL.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { BrowserCookies } from '../http/browser-cookies.ts';
import type { ArtifactStore } from './storage/artifacts.ts';
import type { EndSession } from './storage/sessions.ts';

/** From the last use by a client. storage/sessions.ts finds a session for a shorter time. */
const storedForSeconds = 14 * 24 * 3600;
/** From the sign-in. */
const absoluteLimitSeconds = 30 * 24 * 3600;

const now = (): number => Math.floor(Date.now() / 1000);

/** The setting `ttl.Session`. `loginTs`, in seconds since 1970, is undefined if nobody is signed in. */
export function sessionTtl(_ctx: unknown, session: { readonly loginTs?: number | undefined }): number {
  const age = session.loginTs === undefined ? 0 : now() - session.loginTs;
  return Math.max(1, Math.min(storedForSeconds, absoluteLimitSeconds - age));
}

export interface ProvenIdentity {
  readonly accountId: string;
  /** `idp:NAME` after a social sign-in. */
  readonly acr?: string | undefined;
  /** In seconds since 1970. Default: now. */
  readonly signedInAt?: number | undefined;
  /** The methods of authentication, such as `pwd` for a password (RFC 8176). */
  readonly amr: readonly string[];
}

export type ProviderSessions = ReturnType<typeof createProviderSessions>;

export function createProviderSessions(
  provider: () => Provider,
  { revokeGrant }: Pick<ArtifactStore, 'revokeGrant'>,
  endSession: EndSession,
) {
  // The types of oidc-provider require the context of a request that the library itself serves.
  const contextOf = (request: IncomingMessage, response: ServerResponse) => provider().createContext(request, response);
  const sessionOf = (request: IncomingMessage, response: ServerResponse) =>
    provider().Session.get(contextOf(request, response) as never);

  /** As oidc-provider does. It sets `persistsLogout` if the tokens stay valid (`expiresWithSession` in provider.ts). */
  const revokeSessionGrants = async (authorizations: object | undefined): Promise<void> => {
    const entries = Object.values(authorizations ?? {}) as { grantId?: string; persistsLogout?: boolean }[];
    await Promise.all(
      entries.map(({ grantId, persistsLogout }) => (grantId && !persistsLogout ? revokeGrant(grantId) : undefined)),
    );
  };

  return {
    async find(request: IncomingMessage, response: ServerResponse) {
      const { accountId, loginTs, uid, acr, amr = [] } = await sessionOf(request, response);
      // The session cookie changes at every sign-in, but `uid` does not. `signedInAt` is in seconds since 1970.
      return accountId && loginTs !== undefined ? { uid, accountId, signedInAt: loginTs, acr, amr } : undefined;
    },

    /** If another account was signed in, its session ends. */
    async start(
      request: IncomingMessage,
      response: ServerResponse,
      { accountId, signedInAt = now(), acr, amr }: ProvenIdentity,
    ) {
      const session = await sessionOf(request, response);
      if (session.accountId && session.accountId !== accountId) {
        await revokeSessionGrants(session.authorizations);
        await endSession(session.jti);
        session.authorizations = undefined;
      }
      session.loginAccount({ accountId, loginTs: signedInAt, acr, amr: [...amr] });
      // A new cookie value at every sign-in prevents session fixation.
      session.resetIdentifier();
      await session.save(sessionTtl(undefined, session));
      contextOf(request, response).cookies.set(provider().cookieName('session'), session.jti, {
        httpOnly: true,
        sameSite: 'lax',
        signed: true,
        maxAge: storedForSeconds * 1000,
      });
      return { uid: session.uid, signedInAt };
    },

    async end(request: IncomingMessage, response: ServerResponse): Promise<{ readonly uid: string }> {
      const session = await sessionOf(request, response);
      await revokeSessionGrants(session.authorizations);
      if (session.accountId) await endSession(session.jti);
      contextOf(request, response).cookies.set(provider().cookieName('session'), null, { signed: true });
      return { uid: session.uid };
    },
  };
}

/** Browsers accept `__Host-` cookies only from this host, and not from other hosts of the domain (RFC 6265bis). */
export const hostCookieName = (issuer: string, name: string): string =>
  issuer.startsWith('https:') ? `__Host-${name}` : name;

export function createBrowserCookies(provider: () => Provider, issuer: string): BrowserCookies {
  const cookiesOf = (request: IncomingMessage, response: ServerResponse) =>
    provider().createContext(request, response).cookies;
  const fullName = (name: string): string => hostCookieName(issuer, name);
  return {
    get: (request, response, name) => cookiesOf(request, response).get(fullName(name), { signed: false }),
    set: (request, response, { name, value, maxAge }) => {
      cookiesOf(request, response).set(fullName(name), value, {
        path: '/',
        httpOnly: true,
        sameSite: 'lax',
        signed: false,
        ...(maxAge !== undefined && { maxAge: maxAge * 1000 }),
      });
    },
  };
}
