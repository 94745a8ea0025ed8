// Reads the fields of posted forms and the parameters of page addresses as text.
import express, { type Request, type RequestHandler } from 'express';

/** 32 kB and 100 fields are far more than any of our forms needs. */
export const readForm: RequestHandler = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 });

const body = (request: Request): Record<string, unknown> => (request.body as Record<string, unknown> | undefined) ?? {};

/** The value exactly as typed, for passwords. Empty if the field is missing. */
export function rawField(request: Request, name: string): string {
  const value = body(request)[name];
  return typeof value === 'string' ? value : '';
}

/**
 * The value without surrounding spaces and without NUL, which PostgreSQL cannot store. Empty if the field is missing.
 */
export const field = (request: Request, name: string): string => rawField(request, name).replaceAll('\0', '').trim();

/** All values of a field that can occur several times, such as checkboxes. */
export function fields(request: Request, name: string): readonly string[] {
  const value = body(request)[name];
  const values = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return values.filter((entry) => typeof entry === 'string');
}

/** Undefined if the parameter is missing or was sent more than once. */
export const queryText = (request: Request, name: string): string | undefined => {
  const value = request.query[name];
  return typeof value === 'string' ? value : undefined;
};
