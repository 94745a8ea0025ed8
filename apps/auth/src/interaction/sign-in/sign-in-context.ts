// Defines what differs between a sign-in for an authorization request and a direct sign-in on this site.
import type { Request, Response } from 'express';
import type { StoredDestination } from '../../factors/pending-sign-in-store.ts';
import { signInPath } from '../../html/local-path.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { SocialProvider } from '../../social/provider.ts';
import type { Destination } from './start-session.ts';

/** Returns the links to the social providers. The path of a link begins with `base` and ends with `query`. */
export const providerLinks = (providers: Iterable<SocialProvider>, base: string, query = '') =>
  [...providers].map(({ name, title }) => ({ name, title, href: `${base}/social/${name}${query}` }));

export const destinationOf = ({ interactionUid, returnTo }: StoredDestination): Destination =>
  interactionUid === null ? { returnTo: returnTo ?? '/account' } : { interactionUid };

/** Returns the path of the sign-in page where the user began. */
export const signInPageOf = ({ interactionUid, returnTo }: StoredDestination, options: { again: boolean }): string =>
  interactionUid === null ? signInPath(returnTo ?? '/account', options) : `/interaction/${interactionUid}/sign-in`;

export interface SignInContext {
  /** The value that the CSRF tokens of the forms are bound to (html/csrf-tokens.ts). */
  readonly csrfContext: string;
  readonly providers: ReturnType<typeof providerLinks>;
  readonly signIn: string;
  readonly register: string;
  /** The path of the form with the button "Cancel", if the page has this button. */
  readonly cancel?: string | undefined;
  /** The name of the client that the button "Cancel" returns to. */
  readonly cancelDestination?: string | undefined;
  readonly destination?: string | undefined;
  /** Whether a form of the page may redirect to the client or to a social provider (html/response-headers.ts). */
  readonly allowExternalFormTargets: boolean;
  readonly loginHint?: string | undefined;
  /** The signed-in user, if the user must prove their identity again. */
  readonly reauthenticate?: SignedIn | undefined;
  /** Where the browser goes after a successful sign-in. */
  readonly next: Destination;
}

/** Finds the sign-in context of a request. Returns undefined if the function has already sent a response. */
export type FindSignInContext = (request: Request, response: Response) => Promise<SignInContext | undefined>;
