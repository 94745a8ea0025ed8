// Where does somebody sign in, and what comes after? Within an authorization request, or at this server's own pages with a way back.
import type { Request, Response } from 'express';
import type { Account } from '../accounts/store.ts';
import type { SignInResult } from '../oidc/interactions.ts';

export interface ProviderLink {
  readonly name: string;
  readonly title: string;
  readonly href: string;
}

export interface SignInContext {
  /** Addresses of the forms, which are those of their pages too. */
  readonly signIn: string;
  readonly register: string;
  readonly cancel?: string | undefined;
  readonly clientName?: string | undefined;
  readonly providers: readonly ProviderLink[];
  /** What form tokens belong to. */
  readonly csrfContext: string;
  /** Its forms may end at the application (html/answer.ts). */
  readonly allowExternalFormTargets: boolean;
  readonly hint?: string | undefined;
  /** Somebody is signed in but should say so again. */
  readonly again?: Account | undefined;
  readonly finish: (response: Response) => (done: SignInResult) => Promise<void>;
}

/** Undefined when the request has been answered. */
export type FindSignInContext = (request: Request, response: Response) => Promise<SignInContext | undefined>;
