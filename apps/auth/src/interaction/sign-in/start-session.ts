// Starts a session, for every way to sign in. repository-tests/imports.test.ts lists who may use it.
//
// If the account has a second factor that the user has not proved yet, the sign-in is pending: the session starts
// after the page for the second factor (interaction/second-factor-pages.ts).
import type { Database } from '@bay-booking/service/database/database';
import { randomToken } from '@bay-booking/service/secret-box';
import type { Request, Response } from 'express';
import type { Account } from '../../accounts/store.ts';
import type { Audit } from '../../audit/audit.ts';
import type { PendingSignIns } from '../../factors/pending-sign-in-store.ts';
import type { FactorStore } from '../../factors/store.ts';
import { secondFactorPath } from '../../html/local-path.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { BrowserCookies } from '../../http/browser-cookies.ts';
import type { Interactions } from '../../oidc/authorization/interactions.ts';
import type { ProvenIdentity, ProviderSessions } from '../../oidc/sessions.ts';
import type { BrowserSessions } from './browser-session.ts';
import type { DeviceCookies } from './device-cookie.ts';
import { addSession } from './new-session-store.ts';

/** A user who has just proved to own the account. */
export type ProvenUser = Omit<ProvenIdentity, 'accountId'> & { readonly account: Account };

/** Where the browser goes after the sign-in: to an authorization request, or to a path of this site. */
export type Destination = { readonly interactionUid: string } | { readonly returnTo: string };

interface StartSessionOptions {
  readonly db: Database;
  readonly audit: Audit;
  readonly factors: FactorStore;
  readonly pendingSignIns: PendingSignIns;
  readonly providerSessions: Pick<ProviderSessions, 'start'>;
  readonly sessions: Pick<BrowserSessions, 'set' | 'forget'>;
  readonly devices: Pick<DeviceCookies, 'issue'>;
  readonly cookies: BrowserCookies;
  readonly interactions: Interactions;
}

/** The cookie that identifies the browser of a pending sign-in. */
export const pendingSignInCookie = '_pending';
const cookieLifetimeSeconds = 10 * 60;

/** Proved by a second factor, or by a passkey that has checked who the user is (RFC 8176). */
export const mfa = 'mfa';

export function createStartSession(options: StartSessionOptions) {
  const { db, audit, factors, pendingSignIns, providerSessions, sessions, devices, cookies, interactions } = options;

  /** If another account was signed in, its session ends. */
  const start = async (request: Request, response: Response, { account, ...proven }: ProvenUser) => {
    const accountId = account.id;
    const { acr, amr } = proven;
    const { uid, signedInAt } = await providerSessions.start(request, response, { accountId, ...proven });
    await addSession(db, { uid, accountId, userAgent: request.get('user-agent'), address: request.ip });
    devices.issue(request, response, account);
    sessions.forget(request);
    return { accountId, uid, signedInAt, acr, amr };
  };

  const askForSecondFactor = async (
    request: Request,
    response: Response,
    { account, acr, amr }: ProvenUser,
    destination: Destination,
  ): Promise<void> => {
    const browserSecret = cookies.get(request, response, pendingSignInCookie) ?? randomToken();
    const place = { interactionUid: null, returnTo: null, ...destination };
    const id = await pendingSignIns.add(browserSecret, { accountId: account.id, acr: acr ?? null, amr, ...place });
    cookies.set(request, response, { name: pendingSignInCookie, value: browserSecret, maxAge: cookieLifetimeSeconds });
    response.redirect(303, `${secondFactorPath}?id=${id}`);
  };

  return {
    /** Signs the user in, asks for the second factor if it is missing, and sends the browser to the destination. */
    async startSession(
      request: Request,
      response: Response,
      user: ProvenUser,
      destination: Destination,
    ): Promise<void> {
      const { account, acr, amr } = user;
      if (!amr.includes(mfa) && (await factors.hasSecondFactor(account.id))) {
        return askForSecondFactor(request, response, user, destination);
      }
      const result = await start(request, response, user);
      const detail = { method: [...(acr ? [acr] : []), ...amr].join(' ') };
      audit.record({ kind: 'sign-in.succeeded', accountId: account.id, address: request.ip, detail });
      if ('returnTo' in destination) return response.redirect(303, destination.returnTo);
      await (await interactions.findByUid(destination.interactionUid)).signIn(response, result);
    },

    /** Asks a user who is signed in with one factor for the missing one. */
    askForMissingFactor: askForSecondFactor,

    /** Adds a factor that the user has just set up to the session: setting it up counts as using it. */
    async addFactorToSession(
      request: Request,
      response: Response,
      signedIn: SignedIn,
      method: 'otp' | 'pop',
    ): Promise<void> {
      const { account, acr } = signedIn;
      const amr = [...new Set([...signedIn.amr, method, mfa])];
      const { signedInAt } = await start(request, response, { account, acr, amr });
      sessions.set(request, { ...signedIn, amr, signedInAt });
    },
  };
}
