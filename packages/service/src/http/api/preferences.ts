// Reads the header Prefer (RFC 7240) and finds the fields that `handling=strict` rejects.
import type { ValidationError } from '@bay-booking/common/validation';

const quotedOrPlain = /^(?:"[^"]*"|[^\s"]*)$/;

/** Malformed preferences are ignored, and the first one of a name counts (RFC 7240 section 2). */
export function findPreference(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  for (const part of header.split(',')) {
    // A single regular expression would take quadratic time, because of the optional spaces.
    const [preference = ''] = part.split(';', 1);
    const [key = '', ...valueParts] = preference.split('=');
    const value = valueParts.join('=').trim();
    if (key.trim().toLowerCase() === name && quotedOrPlain.test(value)) return value.replace(/^"|"$/g, '');
  }
  return undefined;
}

/** Unknown parameters and fields are then errors. */
export function isStrict(header: string | undefined): boolean {
  return findPreference(header, 'handling')?.toLowerCase() === 'strict';
}

/** A large request can have an unknown field in every place. */
const maxUnknownFields = 100;

export function findUnknownFields(names: readonly string[], known: ReadonlySet<string>): readonly ValidationError[] {
  const unknown = names.filter((name) => !known.has(name)).slice(0, maxUnknownFields);
  return unknown.map((field) => ({ field, kind: 'unknown', hint: '' }));
}

/** The seconds of `Prefer: wait=N`. */
export function waitSecondsOf(header: string | undefined): number | undefined {
  const value = findPreference(header, 'wait');
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}
