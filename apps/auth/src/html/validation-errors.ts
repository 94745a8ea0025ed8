// Defines the validation errors of forms. A page lists all errors at its top, and repeats each error next to its field.
// Also writes the error of a form that was sent too often.
import type { Response } from 'express';
import { formatWait } from './time-format.ts';

export interface ValidationError {
  /** The name of the form field. If it is left out, the error belongs to the whole form. */
  readonly field?: string;
  readonly text: string;
}

/** Returns the text of the error of each field. Errors of the whole form are left out. */
export function errorsByField(validationErrors: readonly ValidationError[]): Readonly<Record<string, string>> {
  return Object.fromEntries(validationErrors.flatMap(({ field, text }) => (field ? [[field, text]] : [])));
}

/** Sets the header `Retry-After` to `seconds`. Returns a text for the user: the reason, and how long to wait. */
export function setRetryAfterAndExplain(response: Response, seconds: number, reason: string): string {
  response.setHeader('Retry-After', String(seconds));
  return `${reason} Wait ${formatWait(seconds)} and try again.`;
}
