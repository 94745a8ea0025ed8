// Validation errors of forms. A page lists them at its top and repeats each one next to its field.
import type { Response } from 'express';
import { formatWait } from './time-format.ts';

export interface ValidationError {
  /** Name of the form field. Without it the error belongs to the whole form. */
  readonly field?: string;
  readonly text: string;
}

export function errorsByField(validationErrors: readonly ValidationError[]): Readonly<Record<string, string>> {
  return Object.fromEntries(validationErrors.flatMap(({ field, text }) => (field ? [[field, text]] : [])));
}

/** Sets `Retry-After` and returns `reason` with the waiting time in words. `seconds` is the waiting time. */
export function retryLater(response: Response, seconds: number, reason: string): string {
  response.setHeader('Retry-After', String(seconds));
  return `${reason} Wait ${formatWait(seconds)} and try again.`;
}
