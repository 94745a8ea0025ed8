// Reads the fields of posted forms and the query parameters of pages.
import express, { type Request, type RequestHandler } from 'express';

/** Parses a posted form. Each of our forms is much smaller than the limits of 32 kB and 100 fields. */
export const readForm: RequestHandler = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 });

const bodyOf = (request: Request): Record<string, unknown> =>
  (request.body as Record<string, unknown> | undefined) ?? {};

/**
 * Returns the value exactly as the user typed it. Passwords need this. A missing field has the empty string as value.
 */
export function rawField(request: Request, name: string): string {
  const value = bodyOf(request)[name];
  return typeof value === 'string' ? value : '';
}

/**
 * Returns the value without spaces at its ends, and without NUL characters, which PostgreSQL cannot store. A missing
 * field has the empty string as value.
 */
export const field = (request: Request, name: string): string => rawField(request, name).replaceAll('\0', '').trim();

/** Returns all values of a field that a form can contain several times: checkboxes with the same name. */
export function fields(request: Request, name: string): readonly string[] {
  return [bodyOf(request)[name]].flat().filter((value) => typeof value === 'string');
}

/**
 * Returns the text whose key a query contains. Returns undefined for every other key, also for a name that all objects
 * have, such as `constructor`.
 */
export const textOfKey = (texts: Readonly<Record<string, string>>, key: string | undefined): string | undefined =>
  key !== undefined && Object.hasOwn(texts, key) ? texts[key] : undefined;

/** Returns a query parameter, or undefined if the request does not contain the parameter exactly once. */
export const queryText = (request: Request, name: string): string | undefined => {
  const value = request.query[name];
  return typeof value === 'string' ? value : undefined;
};
