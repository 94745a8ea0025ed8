// Validates names and e-mail addresses in forms and import files.
import { hasFormat, isInvisible } from '@bay-booking/common/text';
import { lookalikeIn, readName } from './username.ts';

const maxNameLength = 100;

/**
 * Returns an error message for the user, or undefined. `missingText` is the message for an empty name, if a name is
 * required.
 */
export function validateName(name: string, missingText: string | undefined): string | undefined {
  if (name === '') return missingText;
  // `length` counts some characters, such as emoji, twice.
  if ([...name].length > maxNameLength) return `Use ${maxNameLength} characters or fewer.`;
  if (isInvisible(name)) return 'The name has only invisible characters. Type it again.';
  return !hasFormat('name', name) ? 'The name contains invisible control characters. Type it again.' : undefined;
}

/** Returns an error message for the user, or undefined for an e-mail address that an account may get. */
export function validateEmailAddress(text: string, example = 'name@example.com'): string | undefined {
  const lookalike = lookalikeIn(text);
  if (lookalike) return `Replace “${lookalike}” with ordinary letters or digits.`;
  return isEmailAddress(text) ? undefined : `Enter an e-mail address, such as ${example}.`;
}

/** These characters could add a header or a second recipient to an e-mail. */
const excludedFromEmail = String.raw`\s@<>(),;:"\[\]\\\p{C}`;
const localPart = `[^${excludedFromEmail}]{1,64}`;
const domainLabel = `[^${excludedFromEmail}.\\P{ASCII}]{1,63}`;
const emailPattern = new RegExp(`^${localPart}@${domainLabel}(?:\\.${domainLabel})+$`, 'u');

/** Whether mail can be sent to the string, which has the form and lengths of RFC 5321. */
export function isEmailAddress(text: string): boolean {
  const { address, key } = readName(text);
  return (
    lookalikeIn(text) === undefined &&
    [text, address, key].every(({ length }) => length <= 254) &&
    emailPattern.test(address)
  );
}
