// Defines the facts about the signed-in user that pages need.
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

/** Returns undefined if nobody is signed in. */
export type FindSignedIn = (request: Request, response: Response) => Promise<SignedIn | undefined>;
