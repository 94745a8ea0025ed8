// What did somebody type? Small urlencoded bodies only; every field is text, trimmed unless asked otherwise, and never longer than allowed.
import express, { type Request, type RequestHandler } from 'express';

/** 32 kB and 100 fields are far beyond every form of ours. */
export const readForm: RequestHandler = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 });

const body = (request: Request): Record<string, unknown> => (request.body as Record<string, unknown> | undefined) ?? {};

/** As typed, for passwords. */
export function rawField(request: Request, name: string): string {
  const value = body(request)[name];
  return typeof value === 'string' ? value : '';
}

export const field = (request: Request, name: string): string => rawField(request, name).replaceAll('\0', '').trim();

/** All values of a field that may be there several times, such as checkboxes. */
export function fields(request: Request, name: string): readonly string[] {
  const value = body(request)[name];
  const values = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return values.filter((entry) => typeof entry === 'string');
}

export const queryText = (request: Request, name: string): string | undefined => {
  const value = request.query[name];
  return typeof value === 'string' ? value : undefined;
};
