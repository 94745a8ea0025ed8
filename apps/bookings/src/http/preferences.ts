// Reads the preferences of a client from the header Prefer (RFC 7240).

/** Matches a value in quotes, or a value without quotes and spaces. */
const quotedOrPlain = /^(?:"[^"]*"|[^\s"]*)$/;

/**
 * Returns the value of a preference, or undefined if the header does not contain the preference. Malformed preferences
 * are ignored (RFC 7240 section 2). If the header contains a preference twice, the first one counts.
 */
export function findPreference(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  for (const part of header.split(',')) {
    // A single regular expression for a whole preference would take quadratic time, because of the optional spaces
    // between the name, the equals sign and the value.
    const [preference = ''] = part.split(';', 1);
    const [key = '', ...valueParts] = preference.split('=');
    const value = valueParts.join('=').trim();
    if (key.trim().toLowerCase() === name && quotedOrPlain.test(value)) return value.replace(/^"|"$/g, '');
  }
  return undefined;
}

/** With `Prefer: handling=strict`, unknown parameters and fields are errors. */
export function isStrict(header: string | undefined): boolean {
  return findPreference(header, 'handling')?.toLowerCase() === 'strict';
}

/** The seconds of `Prefer: wait=N`. Undefined without the preference, or if N does not consist of digits only. */
export function waitSecondsOf(header: string | undefined): number | undefined {
  const value = findPreference(header, 'wait');
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}
