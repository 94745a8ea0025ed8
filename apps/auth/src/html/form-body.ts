// Reads the fields of posted forms, and the query parameters of pages, as text.
import express, { type Request, type RequestHandler } from 'express';

/** Parses a posted form. The limits of 32 kB and 100 fields are far more than any of our forms needs. */
export const readForm: RequestHandler = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 });

const body = (request: Request): Record<string, unknown> => (request.body as Record<string, unknown> | undefined) ?? {};

/** Returns the value exactly as the user typed it, for passwords. Returns the empty text if the field is missing. */
export function rawField(request: Request, name: string): string {
  const value = body(request)[name];
  return typeof value === 'string' ? value : '';
}

/**
 * Returns the value without spaces at its ends, and without NUL characters, which PostgreSQL cannot store. Returns the
 * empty text if the field is missing.
 */
export const field = (request: Request, name: string): string => rawField(request, name).replaceAll('\0', '').trim();

/** Returns all values of a field that a form can contain several times, such as checkboxes with the same name. */
export function fields(request: Request, name: string): readonly string[] {
  const value = body(request)[name];
  const values = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return values.filter((entry) => typeof entry === 'string');
}

/** Returns a query parameter, or undefined if the parameter is missing or was sent more than once. */
export const queryText = (request: Request, name: string): string | undefined => {
  const value = request.query[name];
  return typeof value === 'string' ? value : undefined;
};
