// Defines the facts about the signed-in user that pages need, and the paths of the pages that ask for a sign-in.
import type { Request, Response } from 'express';
import type { Account } from '../accounts/store.ts';

export interface SignedIn {
  readonly account: Account;
  readonly sessionId: string;
  /** In seconds since 1970. */
  readonly signedInAt: number;
  readonly acr: string | undefined;
  /** The methods with which the user has signed in (RFC 8176). */
  readonly amr: readonly string[];
  /** Whether the sign-in is recent enough to show or change a secret. */
  readonly isFresh: boolean;
}

/** Whether the user has signed in with two factors. */
export const hasTwoFactors = ({ amr }: Pick<SignedIn, 'amr'>): boolean => amr.includes('mfa');

/**
 * A change of the ways to sign in needs a fresh sign-in, with two factors if the account has a second factor. Returns
 * the path of the page that asks for the missing proof and then returns to `returnTo`, or undefined.
 */
export async function missingProofPath(
  { hasSecondFactor }: { readonly hasSecondFactor: (accountId: string) => Promise<boolean> },
  signedIn: SignedIn,
  returnTo: string,
): Promise<string | undefined> {
  if (!hasTwoFactors(signedIn) && (await hasSecondFactor(signedIn.account.id))) {
    return missingFactorPath(returnTo, true);
  }
  return signedIn.isFresh ? undefined : signInPath(returnTo, { again: true });
}

/** Returns undefined if nobody is signed in. */
export type FindSignedIn = (request: Request, response: Response) => Promise<SignedIn | undefined>;

const maxPathLength = 2000;
/** Browsers read `//host` and `/\host` as another server and remove tabs and line breaks from URLs. */
const pathFormat = /^\/(?![/\\])[^\\\p{Cc}]*$/u;

/** If `again`, a user who is already signed in must prove their identity again. */
export const signInPath = (returnTo: string, { again = false } = {}): string =>
  `/sign-in?return=${encodeURIComponent(returnTo)}${again ? '&again=1' : ''}`;

/** Continues an authorization request that asks for a fresh sign-in, after the user has confirmed the sign-in. */
export const freshSignInPath = (interactionUid: string): string => `/interaction/${interactionUid}/fresh`;

/** The page that asks for the second factor of a pending sign-in. */
export const secondFactorPath = '/sign-in/second-factor';
export const securityPath = '/account/security';

/** Where a signed-in user adds the missing factor (`isSetUp`), or sets one up. */
export const missingFactorPath = (returnTo: string, isSetUp: boolean): string =>
  `${isSetUp ? secondFactorPath : securityPath}?return=${encodeURIComponent(returnTo)}`;

/** Returns `path` if it is a path of this server, or else `fallback`, because of open redirects. */
export function localPath(path: string | undefined, fallback: string): string {
  if (path === undefined || path.length > maxPathLength || !pathFormat.test(path)) return fallback;
  const base = 'http://local.invalid';
  const url = URL.parse(path, base);
  // `/a/..//evil.example` is normalised to `//evil.example`, which browsers read as another host.
  return url && url.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : fallback;
}
