// Describes the user who is signed in in a browser, as pages need it. interaction/browser-session.ts finds that user.
import type { Request, Response } from 'express';
import type { Account } from '../accounts/store.ts';

export interface SignedIn {
  readonly account: Account;
  /** Identifies the session. */
  readonly uid: string;
  /** Seconds since 1970. */
  readonly signedInAt: number;
  /** The sign-in is recent enough to show or change a secret. */
  readonly fresh: boolean;
  /** The session was unused for so long that every page asks for the password again. */
  readonly idle: boolean;
}

/** Returns undefined when nobody is signed in. */
export type FindSignedIn = (request: Request, response: Response) => Promise<SignedIn | undefined>;
