// Defines the facts about the signed-in user that pages need.
import type { Request, Response } from 'express';
import type { Account } from '../accounts/store.ts';

export interface SignedIn {
  readonly account: Account;
  readonly sessionId: string;
  /** Whether the sign-in is recent enough to show or change a secret. */
  readonly isFresh: boolean;
}

/** Returns undefined if nobody is signed in. */
export type FindSignedIn = (request: Request, response: Response) => Promise<SignedIn | undefined>;
