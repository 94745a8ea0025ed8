// Defines the validation errors of forms. A page lists all of them at its top, and shows each of them again next to its
// field.
import type { Response } from 'express';
import { formatWait } from './time-format.ts';

export interface ValidationError {
  /** The name of the form field. If it is left out, the error belongs to the whole form. */
  readonly field?: string;
  readonly text: string;
}

export function errorsByField(validationErrors: readonly ValidationError[]): Readonly<Record<string, string>> {
  return Object.fromEntries(validationErrors.flatMap(({ field, text }) => (field ? [[field, text]] : [])));
}

/** Sets `Retry-After` to `seconds`. Returns a text for the user: `reason`, followed by the waiting time in words. */
export function retryLater(response: Response, seconds: number, reason: string): string {
  response.setHeader('Retry-After', String(seconds));
  return `${reason} Wait ${formatWait(seconds)} and try again.`;
}
