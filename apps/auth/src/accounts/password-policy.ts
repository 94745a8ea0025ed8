// Decides whether a new password is strong enough. As OWASP ASVS 5 (6.2.1) permits, 8 characters are enough. NIST
// SP 800-63B-4 (section 3.1.1.2) requires 15 if the password is the only factor: this policy relies on an estimate of
// the guesses instead.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import pLimit from 'p-limit';
import { maxPasswordLength, PasswordQueueFullError } from './passwords.ts';

const minPasswordLength = 8;
/** zxcvbn's score 2 means that an attacker needs at least a million guesses. */
const minScore = 2;

// An estimate blocks the process: for 75 ms with the library's default limits, for 5 ms with these limits.
const maxEstimatedLength = 40;
let estimator: ZxcvbnFactory | undefined;

/** The dictionaries take 9 MB, so they are loaded for the first new password. */
async function loadEstimator(): Promise<ZxcvbnFactory> {
  const [core, common] = await Promise.all([import('@zxcvbn-ts/core'), import('@zxcvbn-ts/language-common')]);
  return new core.ZxcvbnFactory({
    dictionary: common.dictionary,
    graphs: common.adjacencyGraphs,
    l33tMaxSubstitutions: 10,
    maxLength: maxEstimatedLength,
  });
}

/** `nextTurn` lets the process handle other requests between two estimates. */
const oneAtATime = pLimit(1);
const maxQueueLength = 100;

/** Returns an error message for the user, or undefined if the length is valid. */
export function validatePasswordLength(password: string): string | undefined {
  if (password === '') return 'Enter a password.';
  // `length` counts some characters, such as emoji, twice.
  if ([...password].length < minPasswordLength) return `Use ${minPasswordLength} characters or more.`;
  if (password.length > maxPasswordLength) return `Use ${maxPasswordLength} characters at most.`;
  return undefined;
}

/**
 * Returns an error message for the user, or undefined if the password is strong enough. `about` contains facts that
 * others may know about the user. The check takes much CPU time, so a usage limit must have counted the request.
 *
 * @throws {PasswordQueueFullError} if too many passwords are waiting to be estimated
 */
export async function validateNewPassword(password: string, about: readonly string[]): Promise<string | undefined> {
  const lengthError = validatePasswordLength(password);
  if (lengthError) return lengthError;
  // Each word makes the estimate slower.
  const words = about
    .flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)])
    .filter((word) => word.length > 2)
    .slice(0, 50);
  if (oneAtATime.pendingCount >= maxQueueLength) {
    throw new PasswordQueueFullError('too many passwords are waiting to be estimated');
  }
  const { score } = await oneAtATime(async () => {
    await nextTurn();
    estimator ??= await loadEstimator();
    return estimator.check(password.slice(0, maxEstimatedLength), ['bay booking', 'baybooking', ...words]);
  });
  return score < minScore
    ? 'This password is among the first that an attacker would try. Choose another; a few unrelated words are good.'
    : undefined;
}
