// Defines the facts about the signed-in user that pages need.
import type { Request, Response } from 'express';
import type { Account } from '../accounts/store.ts';
import { missingFactorPath, signInPath } from './local-path.ts';

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
