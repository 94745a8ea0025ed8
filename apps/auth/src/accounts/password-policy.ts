// Decides whether a new password is strong enough.
//
// A password must have a minimum length and must not be easy to guess: common passwords, and the user's own name or
// address, are refused. There are no rules about kinds of characters (NIST SP 800-63B section 3.1.1.2; OWASP ASVS 5,
// chapter V6).
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { maxPasswordLength } from './passwords.ts';

const minPasswordLength = 8;
/** Only this many characters are estimated, because the estimate of a long text takes too long. */
const maxEstimatedLength = 72;
/** On the scale of zxcvbn, 2 means that an attacker needs a million guesses or more. */
const minScore = 2;

/** Created on first use, because loading the dictionaries takes time and memory. */
let estimator: ZxcvbnFactory | undefined;

/**
 * Returns what is wrong with the password, as a text for the user, or undefined. `about` is what others may know
 * about the user, such as the name and the e-mail address.
 */
export function validateNewPassword(password: string, about: readonly string[]): string | undefined {
  if (password === '') return 'Enter a password.';
  if ([...password].length < minPasswordLength) return `Use ${minPasswordLength} characters or more.`;
  if (password.length > maxPasswordLength) return `Use ${maxPasswordLength} characters at most.`;
  estimator ??= new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  const words = about.flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)]).filter((word) => word.length > 2);
  const { score } = estimator.check(password.slice(0, maxEstimatedLength), ['bay booking', 'baybooking', ...words]);
  return score < minScore
    ? 'This password is among the first that an attacker would try. Choose another; a few unrelated words are good.'
    : undefined;
}
