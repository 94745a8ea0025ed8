// Is a new password good enough? Long enough, and not one that is known from breaches or trivially guessed (its owner's own name
// counts); never a rule about kinds of characters (NIST SP 800-63B section 3.1.1.2; OWASP ASVS 5 chapter V6).
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { maxPasswordLength } from './passwords.ts';

export const minPasswordLength = 8;
/** The estimate costs more than linearly; what comes later only makes a password better. */
const estimated = 72;
/** 0: too guessable, 1: very guessable (fewer than a million guesses). */
const leastScore = 2;

let estimator: ZxcvbnFactory | undefined;

/** What is wrong, for its owner to read, or undefined. `about` is what others may know of the owner. */
export function validateNewPassword(password: string, about: readonly string[]): string | undefined {
  if (password === '') return 'Enter a password.';
  if ([...password].length < minPasswordLength) return `Use ${minPasswordLength} characters or more.`;
  if (password.length > maxPasswordLength) return `Use ${maxPasswordLength} characters at most.`;
  estimator ??= new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  const known = about.flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)]).filter((word) => word.length > 2);
  const { score } = estimator.check(password.slice(0, estimated), ['bay booking', 'baybooking', ...known]);
  return score < leastScore
    ? 'This password is among the first that an attacker would try. Choose another; a few unrelated words are good.'
    : undefined;
}
