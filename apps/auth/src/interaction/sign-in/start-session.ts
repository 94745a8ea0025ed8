// Starts a session: the one door for every way to sign in. repository-tests/imports.test.ts lists who may use it.
import type { Request, Response } from 'express';
import type { Account } from '../../accounts/store.ts';
import type { SignInResult } from '../../oidc/authorization/interactions.ts';
import type { ProvenIdentity, ProviderSessions } from '../../oidc/sessions.ts';
import type { Services, Stores } from '../../services.ts';
import type { BrowserSessions } from './browser-session.ts';
import type { DeviceCookies } from './device-cookie.ts';
import { addSession } from './new-session-store.ts';

/** A user who has just proved to own the account. */
export type ProvenUser = Omit<ProvenIdentity, 'accountId'> & { readonly account: Account };

/** If another account was signed in, its session ends. */
export type StartSession = (request: Request, response: Response, user: ProvenUser) => Promise<SignInResult>;

/** What the ways to sign in use. */
export type SignInServices = Services & { readonly startSession: StartSession };

export interface StartSessionOptions {
  readonly providerSessions: Pick<ProviderSessions, 'start'>;
  readonly sessions: Pick<BrowserSessions, 'forget'>;
  readonly devices: Pick<DeviceCookies, 'issue'>;
}

export const createStartSession =
  ({ db, audit }: Stores, { providerSessions, sessions, devices }: StartSessionOptions): StartSession =>
  async (request, response, { account, acr, amr }) => {
    const accountId = account.id;
    const { uid, signedInAt } = await providerSessions.start(request, response, { accountId, acr, amr });
    await addSession(db, { uid, accountId, userAgent: request.get('user-agent'), address: request.ip });
    devices.issue(request, response, account);
    sessions.forget(request);
    const detail = { method: acr ?? amr.join(' ') };
    audit.record({ kind: 'sign-in.succeeded', accountId, address: request.ip, detail });
    return { accountId, signedInAt, acr, amr };
  };
