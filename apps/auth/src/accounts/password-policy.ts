// Decides whether a new password is strong enough.
//
// A password must have a minimum length and must not be easy to guess. Common passwords are rejected, and so are
// passwords that consist of the user's name or e-mail address. There are no rules about kinds of characters (NIST SP
// 800-63B section 3.1.1.2; OWASP ASVS 5, chapter V6).
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import pLimit from 'p-limit';
import { maxPasswordLength, PasswordQueueFullError } from './passwords.ts';

const minPasswordLength = 8;
/** The library zxcvbn gives a score from 0 to 4. The score 2 means that an attacker needs a million guesses or more. */
const minScore = 2;

// An estimate blocks the process. It takes more time for a longer password, and for more substitutions of characters
// (such as `@` for `a`) that the library tries. With the default limits of the library, a password of 72 characters
// takes about 75 ms. With the limits below, it takes 5 ms.
const maxEstimatedLength = 40;
const estimator = new ZxcvbnFactory({
  dictionary,
  graphs: adjacencyGraphs,
  l33tMaxSubstitutions: 10,
  maxLength: maxEstimatedLength,
});

/**
 * Limits the estimates of the strength of passwords to one at a time. Each estimate begins in a new turn of the event
 * loop (`nextTurn`), so other requests are handled between two estimates.
 */
const oneAtATime = pLimit(1);
const maxQueueLength = 100;

/** Checks the length of a password. Returns an error text for the user, or undefined if the length is valid. */
export function validatePasswordLength(password: string): string | undefined {
  if (password === '') return 'Enter a password.';
  // The spread operator counts characters. `length` counts some of them, such as emoji, twice.
  if ([...password].length < minPasswordLength) return `Use ${minPasswordLength} characters or more.`;
  if (password.length > maxPasswordLength) return `Use ${maxPasswordLength} characters at most.`;
  return undefined;
}

/**
 * Checks a new password. Returns an error text for the user, or undefined if the password is strong enough. `about`
 * contains facts that others may know about the user, such as the name and the e-mail address.
 *
 * This check takes a lot of CPU time. Call it only when all other fields of the form are valid, and after a usage limit
 * has counted the request.
 * @throws {PasswordQueueFullError} if too many passwords are waiting to be estimated
 */
export async function validateNewPassword(password: string, about: readonly string[]): Promise<string | undefined> {
  const lengthError = validatePasswordLength(password);
  if (lengthError) return lengthError;
  // Each word makes the estimate slower, so their number is limited.
  const words = about
    .flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)])
    .filter((word) => word.length > 2)
    .slice(0, 50);
  if (oneAtATime.pendingCount >= maxQueueLength) {
    throw new PasswordQueueFullError('too many passwords are waiting to be estimated');
  }
  const { score } = await oneAtATime(async () => {
    await nextTurn();
    return estimator.check(password.slice(0, maxEstimatedLength), ['bay booking', 'baybooking', ...words]);
  });
  return score < minScore
    ? 'This password is among the first that an attacker would try. Choose another; a few unrelated words are good.'
    : undefined;
}
