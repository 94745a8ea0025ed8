// Defines the validation errors of forms. A page lists all errors at its top, and repeats each error next to its field.
import type { Response } from 'express';
import { formatWait } from './time-format.ts';

export interface ValidationError {
  /** The name of the form field. If it is left out, the error belongs to the whole form. */
  readonly field?: string;
  readonly text: string;
}

/** Returns an error for each field that has a text. */
export const fieldErrors = (texts: Readonly<Record<string, string | undefined>>): ValidationError[] =>
  Object.entries(texts).flatMap(([field, text]) => (text ? [{ field, text }] : []));

export const errorsByField = (errors: readonly ValidationError[]): Readonly<Record<string, string>> =>
  Object.fromEntries(errors.flatMap(({ field, text }) => (field ? [[field, text]] : [])));

/** Sets the header `Retry-After` to `seconds`. Returns a text for the user: the reason, and how long to wait. */
export function setRetryAfterAndExplain(response: Response, seconds: number, reason: string): string {
  response.setHeader('Retry-After', String(seconds));
  return `${reason} Wait ${formatWait(seconds)} and try again.`;
}
