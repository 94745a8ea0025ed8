// Defines the sign-in context: the differences between signing in for an authorization request and signing in directly
// on this site.
import type { Request, Response } from 'express';
import type { Account } from '../accounts/store.ts';
import type { SignInResult } from '../oidc/interactions.ts';

export interface ProviderLink {
  readonly name: string;
  readonly title: string;
  readonly href: string;
}

export interface SignInContext {
  /** The path of the sign-in page, to which its form is also posted. */
  readonly signIn: string;
  /** The path of the registration page, to which its form is also posted. */
  readonly register: string;
  /** The path to which the button "Cancel" posts. Without it, the pages have no such button. */
  readonly cancel?: string | undefined;
  /** The name of the client to which "Cancel" returns. */
  readonly cancelDestination?: string | undefined;
  /** The name of the client or facility to which the user signs in. */
  readonly destination?: string | undefined;
  readonly providers: readonly ProviderLink[];
  readonly csrfContext: string;
  /** Whether the form may redirect to an address of the client (html/response-headers.ts explains why). */
  readonly allowExternalFormTargets: boolean;
  /** The user name that the form already contains (`login_hint`). */
  readonly loginHint?: string | undefined;
  /** The account that is signed in, if its user must enter the password again. */
  readonly reauthenticate?: Account | undefined;
  /** Sends the response that follows a successful sign-in. */
  readonly complete: (response: Response, result: SignInResult) => Promise<void>;
}

/** Returns undefined if the function has already sent the response. */
export type FindSignInContext = (request: Request, response: Response) => Promise<SignInContext | undefined>;
