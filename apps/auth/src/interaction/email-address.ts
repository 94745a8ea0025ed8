// Does this look like an e-mail address that mail can be sent to? Only the mailed link proves it; this refuses what cannot be one, and
// what could add headers or recipients to a mail.

export const isEmailAddress = (text: string): boolean =>
  text.length <= 254 &&
  /^[^\s@<>(),;:"[\]\\\p{C}]{1,64}@[^\s@<>(),;:"[\]\\\p{C}.]+(?:\.[^\s@<>(),;:"[\]\\\p{C}.]+)+$/u.test(text);
