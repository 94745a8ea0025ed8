// Reads request bodies (docs/behaviour.md, "Request bodies").
import express, { type Request, type RequestHandler, type Response } from 'express';
import { apiError } from '../errors.ts';

const defaultLimit = 100_000;
/** Reads a body of at most `limit` bytes. */
export const rawBody = (limit = defaultLimit): RequestHandler => express.raw({ type: () => true, limit });

const utf8 = new TextDecoder('utf-8', { fatal: true });
const jsonType = /^(?:application|text)\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i;

/**
 * A field with an empty string counts as left out.
 * @throws {ApiError} 400, 413 or 415
 */
export async function readJsonObject(
  request: Request,
  response: Response,
  readRawBody: RequestHandler,
): Promise<Record<string, unknown>> {
  return withoutEmptyTexts(await readJsonObjectAsSent(request, response, readRawBody));
}

/** @throws {ApiError} 400, 413 or 415 */
export async function readJsonObjectAsSent(
  request: Request,
  response: Response,
  readRawBody: RequestHandler,
): Promise<Record<string, unknown>> {
  if (hasBody(request) && !((hasJsonType(request) || hasFormType(request)) && isUtf8(request)))
    throw apiError('ERR00415');
  const bytes = await readBytes(request, response, readRawBody);
  if (!isJson(request, bytes)) throw apiError('ERR00415');
  const value = parseJson(bytes);
  if (!isObject(value)) throw apiError('ERR00003');
  return value;
}

export function withoutEmptyTexts(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

/**
 * Reads a JSON object, a form, or a JSON string, which becomes the field `stringField`. Any other body is an error,
 * because a body must never be ignored.
 * @throws {ApiError} 400, 413 or 415
 */
export async function readOptionalBody(
  request: Request,
  response: Response,
  readRawBody: RequestHandler,
  stringField: string | undefined,
): Promise<Record<string, unknown>> {
  if (!hasBody(request)) return {};
  const bytes = await readBytes(request, response, readRawBody);
  if (bytes.length === 0) return {};
  if (!isUtf8(request)) throw apiError('ERR00003');
  if (!isJson(request, bytes)) {
    if (hasFormType(request)) return Object.fromEntries(new URLSearchParams(decode(bytes)));
    throw apiError('ERR00003');
  }
  const value = parseJson(bytes);
  if (typeof value === 'string' && stringField !== undefined) return { [stringField]: value };
  if (!isObject(value)) throw apiError('ERR00003');
  return value;
}

/** A chunked body can still turn out to be empty. */
function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

function hasJsonType({ headers }: Request): boolean {
  return headers['content-type'] === undefined || jsonType.test(headers['content-type']);
}

function hasFormType({ headers }: Request): boolean {
  return formType.test(headers['content-type'] ?? '');
}

/** `curl -d` sends a JSON object with the type of a form. No form begins with a brace. */
function isJson(request: Request, bytes: Buffer): boolean {
  return hasJsonType(request) || (hasFormType(request) && /^\s*\{/.test(bytes.toString('latin1', 0, 1_000)));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function readBytes(request: Request, response: Response, readRawBody: RequestHandler): Promise<Buffer> {
  await new Promise<void>((resolve, reject) => {
    readRawBody(request, response, (error?: unknown) => (error ? reject(apiErrorOf(error as BodyError)) : resolve()));
  });
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(decode(bytes));
  } catch (cause) {
    throw cause instanceof SyntaxError ? apiError('ERR00003') : cause;
  }
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw apiError('ERR00003');
  }
}

function isUtf8(request: Request): boolean {
  return /^utf-?8$/i.test(charset.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8');
}

/** An error of body-parser. */
interface BodyError {
  readonly type?: string;
  readonly limit?: number;
}

function apiErrorOf({ type, limit = defaultLimit }: BodyError): Error {
  // The code's description names the default limit.
  const moreInfo = limit === defaultLimit ? '' : `at most ${limit / 1_000} kB here`;
  if (type === 'entity.too.large') return apiError('ERR00413', { moreInfo });
  if (type === 'encoding.unsupported') return apiError('ERR00415');
  return apiError('ERR00003');
}
