// Validates the name and the e-mail address that a user enters for an account.

const maxNameLength = 100;

/** Returns what is wrong, or undefined. */
export function validateName(name: string, { required = true } = {}): string | undefined {
  if (name === '' && required) return 'Enter your name.';
  return name.length > maxNameLength ? `Use ${maxNameLength} characters or fewer.` : undefined;
}

/**
 * Accepts what mail can be sent to. It refuses every character that could add a header or a second recipient to an
 * e-mail. Only the mailed link proves that the address exists.
 */
export const isEmailAddress = (text: string): boolean =>
  text.length <= 254 &&
  /^[^\s@<>(),;:"[\]\\\p{C}]{1,64}@[^\s@<>(),;:"[\]\\\p{C}.]+(?:\.[^\s@<>(),;:"[\]\\\p{C}.]+)+$/u.test(text);
