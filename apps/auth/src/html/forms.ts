// Reads the fields of forms and the query parameters of pages. Defines the validation errors of forms.
import { isText } from '@bay-booking/common/text';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { readCode } from '../input/typed-code.ts';
import { formatWait } from './time-format.ts';

/** The largest form has a checkbox for each of up to 1000 facilities. */
export const readForm: RequestHandler = express.urlencoded({ extended: false, limit: '64kb', parameterLimit: 1_100 });

const bodyField = (request: Request, name: string): unknown =>
  (request.body as Record<string, unknown> | undefined)?.[name];

/** Returns the value exactly as the user typed it, as passwords need. A missing field has the empty string as value. */
export function rawField(request: Request, name: string): string {
  const value = bodyField(request, name);
  return typeof value === 'string' ? value : '';
}

/** Returns the value without spaces at its ends. A handler must check it before PostgreSQL, which cannot store NUL. */
export const field = (request: Request, name: string): string => rawField(request, name).trim();

/** Returns the empty string, which is not an id, for a string that cannot be an id. */
export function idField(request: Request, name: string): string {
  const value = rawField(request, name);
  return isText(value) ? value : '';
}

/** Returns the code that the user typed. */
export const codeField = (request: Request, name: string): string => readCode(rawField(request, name));

/** Returns all values of a field that a form can contain several times: checkboxes with the same name. */
export const fields = (request: Request, name: string): readonly string[] =>
  [bodyField(request, name)].flat().filter((value) => typeof value === 'string');

/** Returns undefined for an unknown key, also for a name that all objects have, such as `constructor`. */
export const textOfKey = (texts: Readonly<Record<string, string>>, key: string | undefined): string | undefined =>
  key !== undefined && Object.hasOwn(texts, key) ? texts[key] : undefined;

/** Returns a query parameter, or undefined if the request does not contain the parameter exactly once. */
export const queryText = (request: Request, name: string): string | undefined => {
  const value = request.query[name];
  return typeof value === 'string' ? value : undefined;
};

export interface FormError {
  /** The name of the form field. If it is left out, the error belongs to the whole form. */
  readonly field?: string;
  readonly text: string;
}

/** Returns an error for each field that has a text. */
export const fieldErrors = (texts: Readonly<Record<string, string | undefined>>): FormError[] =>
  Object.entries(texts).flatMap(([field, text]) => (text ? [{ field, text }] : []));

export const errorsByField = (errors: readonly FormError[]): Readonly<Record<string, string>> =>
  Object.fromEntries(errors.flatMap(({ field, text }) => (field ? [[field, text]] : [])));

/** The state of a form after too many requests. */
export const tooMany = (response: Response, seconds: number, reason: string) => ({
  validationErrors: [{ text: setRetryAfterAndExplain(response, seconds, reason) }],
  status: 429,
});

/** Sets the header `Retry-After` to `seconds`. Returns a text for the user: the reason, and how long to wait. */
export function setRetryAfterAndExplain(response: Response, seconds: number, reason: string): string {
  response.setHeader('Retry-After', String(seconds));
  return `${reason} Wait ${formatWait(seconds)} and try again.`;
}
