// Defines the sign-in context. The same pages serve the sign-in for an authorization request and the direct sign-in on
// this site. The context contains everything in which these two kinds of sign-in differ.
import type { Request, Response } from 'express';
import type { Account } from '../../accounts/store.ts';
import type { SignInResult } from '../../oidc/authorization/interactions.ts';

export interface ProviderLink {
  readonly name: string;
  readonly title: string;
  readonly href: string;
}

export interface SignInContext {
  /** The value to which the CSRF tokens of the forms are bound (html/csrf-tokens.ts). */
  readonly csrfContext: string;
  readonly providers: readonly ProviderLink[];
  /** The path of the sign-in page, and of its form. */
  readonly signIn: string;
  /** The path of the registration page, and of its form. */
  readonly register: string;
  /** The path of the form with the button "Cancel". If it is left out, the page has no such button. */
  readonly cancel?: string | undefined;
  /** The name of the client to which the button "Cancel" returns. */
  readonly cancelDestination?: string | undefined;
  /** The name of the client or facility to which the user signs in. */
  readonly destination?: string | undefined;
  /** Whether a form of the page may redirect to the client or to a social provider (html/response-headers.ts). */
  readonly allowExternalFormTargets: boolean;
  /** The parameter `login_hint` of the authorization request: a user name with which the form is filled in. */
  readonly loginHint?: string | undefined;
  /** The account of the signed-in user, if the user must prove their identity again. */
  readonly reauthenticate?: Account | undefined;
  /** Sends the response that follows a successful sign-in. */
  readonly complete: (response: Response, result: SignInResult) => Promise<void>;
}

/** Finds the sign-in context of a request. Returns undefined if the function has already sent a response. */
export type FindSignInContext = (request: Request, response: Response) => Promise<SignInContext | undefined>;
