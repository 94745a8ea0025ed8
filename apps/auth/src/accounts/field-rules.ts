// Validates names and e-mail addresses in forms and import files.
import { hasFormat } from '@bay-booking/common/text';

const maxNameLength = 100;

/**
 * Returns an error message for the user, or undefined. `missingText` is the message for an empty name, if a name is
 * required.
 */
export function validateName(name: string, missingText: string | undefined): string | undefined {
  if (name === '') return missingText;
  if (name.length > maxNameLength) return `Use ${maxNameLength} characters or fewer.`;
  return !hasFormat('name', name) ? 'The name contains invisible control characters. Type it again.' : undefined;
}

/** These characters could add a header or a second recipient to an e-mail. */
const excludedFromEmail = String.raw`\s@<>(),;:"\[\]\\\p{C}`;
const localPart = `[^${excludedFromEmail}]{1,64}`;
const domainLabel = `[^${excludedFromEmail}.]+`;
const emailPattern = new RegExp(`^${localPart}@${domainLabel}(?:\\.${domainLabel})+$`, 'u');

/** Whether the string has the form of an e-mail address and the maximum lengths of RFC 5321. */
export const isEmailAddress = (text: string): boolean => text.length <= 254 && emailPattern.test(text);
