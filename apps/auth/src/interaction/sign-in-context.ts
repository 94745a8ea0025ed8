// Describes where a user signs in: inside an authorization request, or directly on this site.
import type { Request, Response } from 'express';
import type { Account } from '../accounts/store.ts';
import type { SignInResult } from '../oidc/interactions.ts';

export interface ProviderLink {
  readonly name: string;
  readonly title: string;
  readonly href: string;
}

export interface SignInContext {
  /** Paths of the pages, to which their forms are posted. */
  readonly signIn: string;
  readonly register: string;
  readonly cancel?: string | undefined;
  /** Where "Cancel" leads: the name of the application. */
  readonly cancelDestination?: string | undefined;
  /** Name of the application or facility that the user signs in to. */
  readonly destination?: string | undefined;
  readonly providers: readonly ProviderLink[];
  readonly csrfContext: string;
  /** The form can redirect to the application: see html/response-headers.ts. */
  readonly allowExternalFormTargets: boolean;
  /** User name with which the form is filled in (`login_hint`). */
  readonly loginHint?: string | undefined;
  /** This account is signed in, and its user must enter the password again. */
  readonly reauthenticate?: Account | undefined;
  /** Sends the response that follows a successful sign-in. */
  readonly complete: (response: Response, result: SignInResult) => Promise<void>;
}

/** Returns undefined when it has already sent the response. */
export type FindSignInContext = (request: Request, response: Response) => Promise<SignInContext | undefined>;
