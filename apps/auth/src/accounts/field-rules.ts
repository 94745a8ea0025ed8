// Validates names and e-mail addresses in forms and import files.

/**
 * A part of a regular expression with the flag `u`. It matches text without control characters. Bidirectional control
 * characters, such as U+202E, are excluded too: they change the order in which a page shows the text around them.
 */
export const textPattern = '[^\\p{Cc}\\p{Bidi_Control}]*';
const entireText = new RegExp(`^${textPattern}$`, 'u');

export const hasControlCharacter = (text: string): boolean => !entireText.test(text);

const maxNameLength = 100;

/**
 * Validates the name of an account or of a personal access token. Returns an error text for the user, or undefined if
 * the name is valid. `missingText` is the error text for an empty name. If `missingText` is undefined, the name may be
 * empty.
 */
export function validateName(name: string, missingText: string | undefined): string | undefined {
  if (name === '') return missingText;
  if (name.length > maxNameLength) return `Use ${maxNameLength} characters or fewer.`;
  return hasControlCharacter(name) ? 'The name contains invisible control characters. Type it again.' : undefined;
}

/** The characters that could add a header or a second recipient to an e-mail. */
const excludedFromEmail = String.raw`\s@<>(),;:"\[\]\\\p{C}`;
const localPart = `[^${excludedFromEmail}]{1,64}`;
/** A part of the domain between two dots. */
const domainLabel = `[^${excludedFromEmail}.]+`;
const emailPattern = new RegExp(`^${localPart}@${domainLabel}(?:\\.${domainLabel})+$`, 'u');

/**
 * Whether the text has the form of an e-mail address: a local part, `@` and a domain with at least one dot. The maximum
 * lengths are those of RFC 5321. Only the link in an e-mail proves that the address exists.
 */
export const isEmailAddress = (text: string): boolean => text.length <= 254 && emailPattern.test(text);
