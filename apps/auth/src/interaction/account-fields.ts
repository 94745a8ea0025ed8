// Validates the name and the e-mail address that a user enters for an account.

const maxNameLength = 100;

/** Returns an error text for the user, or undefined if the name is valid. */
export function validateName(name: string, { required = true } = {}): string | undefined {
  if (name === '' && required) return 'Enter your name.';
  return name.length > maxNameLength ? `Use ${maxNameLength} characters or fewer.` : undefined;
}

/**
 * Whether the text has the form of an e-mail address: a local part, `@` and a domain with at least one dot. Characters
 * that could add a header or a second recipient to an e-mail are not allowed. This check does not prove that the
 * address exists. Only the link in a mailed message does.
 */
export const isEmailAddress = (text: string): boolean =>
  text.length <= 254 &&
  /^[^\s@<>(),;:"[\]\\\p{C}]{1,64}@[^\s@<>(),;:"[\]\\\p{C}.]+(?:\.[^\s@<>(),;:"[\]\\\p{C}.]+)+$/u.test(text);
