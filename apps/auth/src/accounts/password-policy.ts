// Decides whether a new password is strong enough.
//
// A password must have a minimum length and must not be easy to guess: common passwords, and the user's own name or
// address, are refused. There are no rules about kinds of characters (NIST SP 800-63B section 3.1.1.2; OWASP ASVS 5,
// chapter V6).
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import pLimit from 'p-limit';
import { maxPasswordLength, PasswordQueueFullError } from './passwords.ts';

const minPasswordLength = 8;
/** On the scale of zxcvbn, 2 means that an attacker needs a million guesses or more. */
const minScore = 2;

// The estimate blocks the process, and its time grows with the length and with the number of substitutions that it
// tries, such as `@` for `a`. With the defaults of the library, 72 characters take about 75 ms, with these limits 5 ms.
const maxEstimatedLength = 40;
const estimator = new ZxcvbnFactory({
  dictionary,
  graphs: adjacencyGraphs,
  l33tMaxSubstitutions: 10,
  maxLength: maxEstimatedLength,
});

/** One estimate in each turn of the event loop, so that other requests are served between two estimates. */
const oneAtATime = pLimit(1);
const maxQueueLength = 100;

/** Returns what is wrong with the length of the password, as a text for the user, or undefined. Costs nothing. */
export function validatePasswordLength(password: string): string | undefined {
  if (password === '') return 'Enter a password.';
  if ([...password].length < minPasswordLength) return `Use ${minPasswordLength} characters or more.`;
  if (password.length > maxPasswordLength) return `Use ${maxPasswordLength} characters at most.`;
  return undefined;
}

/**
 * Returns what is wrong with the password, as a text for the user, or undefined. `about` is what others may know
 * about the user, such as the name and the e-mail address. This is expensive: call it only if nothing else of a form
 * is wrong, and count the request first.
 *
 * @throws {PasswordQueueFullError}
 */
export async function validateNewPassword(password: string, about: readonly string[]): Promise<string | undefined> {
  const lengthError = validatePasswordLength(password);
  if (lengthError) return lengthError;
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
