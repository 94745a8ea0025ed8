// Reads request bodies: bytes, JSON and forms (docs/behaviour.md, "Request bodies").
import express, { type Request, type RequestHandler, type Response } from 'express';

/** Creates an error of the service's catalogue. */
export type BodyError = (code: 'ERR00003' | 'ERR00413' | 'ERR00415', options?: { readonly moreInfo?: string }) => Error;

const defaultLimit = 100_000;
/** Reads a body of at most `limit` bytes. Unless `inflate`, a compressed body is an error. */
export const rawBody = (limit = defaultLimit, { inflate = true } = {}): RequestHandler =>
  express.raw({ type: () => true, limit, inflate });

const utf8 = new TextDecoder('utf-8', { fatal: true });
const jsonType = /^(?:application|text)\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i;

function hasJsonType({ headers }: Request): boolean {
  return headers['content-type'] === undefined || jsonType.test(headers['content-type']);
}

/** `curl -d` sends JSON with this type. */
function hasFormType({ headers }: Request): boolean {
  return formType.test(headers['content-type'] ?? '');
}

function isUtf8({ headers }: Request): boolean {
  return /^utf-?8$/i.test(charset.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8');
}

const hasReadableType = (request: Request): boolean =>
  (hasJsonType(request) || hasFormType(request)) && isUtf8(request);

/** @throws the error of `bodyError` */
export async function readBytes(
  request: Request,
  response: Response,
  readRawBody: RequestHandler,
  bodyError: BodyError,
): Promise<Buffer> {
  await new Promise<void>((resolve, reject) => {
    readRawBody(request, response, (error?: unknown) =>
      error ? reject(convert(error as RawBodyError, bodyError)) : resolve(),
    );
  });
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

/** An error of body-parser. */
interface RawBodyError {
  readonly type?: string;
  readonly limit?: number;
}

function convert({ type, limit = defaultLimit }: RawBodyError, bodyError: BodyError): Error {
  // The code's description names the default limit.
  const moreInfo = limit === defaultLimit ? '' : `at most ${limit / 1_000} kB here`;
  if (type === 'entity.too.large') return bodyError('ERR00413', { moreInfo });
  if (type === 'encoding.unsupported')
    return bodyError('ERR00415', { moreInfo: 'This Content-Encoding is not accepted. Send the body uncompressed.' });
  return bodyError('ERR00003');
}

function decode(bytes: Uint8Array, bodyError: BodyError): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw bodyError('ERR00003');
  }
}

function parseJson(bytes: Uint8Array, bodyError: BodyError): unknown {
  const text = decode(bytes, bodyError);
  try {
    return JSON.parse(text);
  } catch {
    throw bodyError('ERR00003');
  }
}

/** @throws the error of `bodyError`, also for an empty body */
export function parseJsonObject(bytes: Uint8Array, bodyError: BodyError): Record<string, unknown> {
  const value = parseJson(bytes, bodyError);
  if (!isObject(value)) throw bodyError('ERR00003');
  return value;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws the error of `bodyError` */
export async function readJsonObject(
  request: Request,
  response: Response,
  readRawBody: RequestHandler,
  bodyError: BodyError,
): Promise<Record<string, unknown>> {
  if (hasBody(request) && !hasReadableType(request)) throw bodyError('ERR00415');
  const bytes = await readBytes(request, response, readRawBody, bodyError);
  if (!isJson(request, bytes)) throw bodyError('ERR00415');
  return parseJsonObject(bytes, bodyError);
}

/**
 * Reads a JSON object, a form, or a JSON string, which becomes the field `stringField`. Any other body is an error,
 * because a body must never be ignored.
 * @throws the error of `bodyError`
 */
export async function readOptionalBody(
  request: Request,
  response: Response,
  readRawBody: RequestHandler,
  bodyError: BodyError,
  stringField: string | undefined,
): Promise<Record<string, unknown>> {
  if (!hasBody(request)) return {};
  const bytes = await readBytes(request, response, readRawBody, bodyError);
  if (bytes.length === 0) return {};
  if (!isUtf8(request)) throw bodyError('ERR00003');
  if (!isJson(request, bytes)) {
    if (hasFormType(request)) return Object.fromEntries(new URLSearchParams(decode(bytes, bodyError)));
    throw bodyError('ERR00003');
  }
  const value = parseJson(bytes, bodyError);
  if (typeof value === 'string' && stringField !== undefined) return { [stringField]: value };
  if (!isObject(value)) throw bodyError('ERR00003');
  return value;
}

/** `kept` are fields in which an empty string is a value. */
export function withoutEmptyTexts(
  fields: Readonly<Record<string, unknown>>,
  kept: readonly string[] = [],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => value !== '' || kept.includes(name)));
}

/** A chunked body can still turn out to be empty. */
function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** `curl -d` sends a JSON object with the type of a form. No form begins with a brace. */
function isJson(request: Request, bytes: Buffer): boolean {
  return hasJsonType(request) || (hasFormType(request) && /^\s*\{/.test(bytes.toString('latin1', 0, 1_000)));
}
