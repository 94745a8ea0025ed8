// Reads request bodies, by default of at most 100 kB (docs/behaviour.md, "Request bodies").
import express, { type Request, type Response } from 'express';
import { apiError } from '../errors.ts';

const defaultMaxBytes = 100_000;
const rawBodyReader = (limit: number) => express.raw({ type: () => true, limit });
const readRawBody = rawBodyReader(defaultMaxBytes);
const utf8 = new TextDecoder('utf-8', { fatal: true });
const jsonType = /^(?:application|text)\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i;

/**
 * A field with an empty string counts as left out.
 * @throws {ApiError} 400, 413 or 415
 */
export async function readJsonObject(request: Request, response: Response): Promise<Record<string, unknown>> {
  const value = await readJsonObjectAsSent(request, response);
  for (const name in value) if (value[name] === '') delete value[name];
  return value;
}

/** @throws {ApiError} 400, 413 or 415 */
export async function readJsonObjectAsSent(
  request: Request,
  response: Response,
  maxBytes = defaultMaxBytes,
): Promise<Record<string, unknown>> {
  if (hasBody(request) && !((hasJsonType(request) || hasFormType(request)) && isUtf8(request)))
    throw apiError('ERR00415');
  const bytes = await readBytes(request, response, maxBytes);
  if (!isJson(request, bytes)) throw apiError('ERR00415');
  const value = parseJson(bytes);
  if (!isObject(value)) throw apiError('ERR00003');
  return value;
}

/**
 * Reads a JSON object, a form, or a JSON string, which becomes the field `stringField`. Any other body is an error,
 * because a body must never be ignored.
 * @throws {ApiError} 400, 413 or 415
 */
export async function readOptionalBody(
  request: Request,
  response: Response,
  stringField: string | undefined,
): Promise<Record<string, unknown>> {
  if (!hasBody(request)) return {};
  const bytes = await readBytes(request, response);
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

async function readBytes(request: Request, response: Response, maxBytes = defaultMaxBytes): Promise<Buffer> {
  const read = maxBytes === defaultMaxBytes ? readRawBody : rawBodyReader(maxBytes);
  await new Promise<void>((resolve, reject) => {
    read(request, response, (error?: object) => (error ? reject(apiErrorOf(error, maxBytes)) : resolve()));
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

/** Converts an error of body-parser. */
function apiErrorOf({ type }: { readonly type?: string }, maxBytes: number): Error {
  const moreInfo = maxBytes === defaultMaxBytes ? '' : `${maxBytes / 1_000_000} MB are allowed here.`;
  if (type === 'entity.too.large') return apiError('ERR00413', { moreInfo });
  if (type === 'encoding.unsupported') return apiError('ERR00415');
  return apiError('ERR00003');
}
