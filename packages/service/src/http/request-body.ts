// Reads the bytes of request bodies, and parses JSON.
import express, { type Request, type RequestHandler, type Response } from 'express';

/** Creates an error of the service's catalogue. */
export type BodyError = (code: 'ERR00003' | 'ERR00413' | 'ERR00415', options?: { readonly moreInfo?: string }) => Error;

const defaultLimit = 100_000;
/** Reads a body of at most `limit` bytes. */
export const rawBody = (limit = defaultLimit): RequestHandler => express.raw({ type: () => true, limit });

const utf8 = new TextDecoder('utf-8', { fatal: true });
const jsonType = /^(?:application|text)\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i;

export function hasJsonType({ headers }: Request): boolean {
  return headers['content-type'] === undefined || jsonType.test(headers['content-type']);
}

/** `curl -d` sends JSON with this type. */
export function hasFormType({ headers }: Request): boolean {
  return formType.test(headers['content-type'] ?? '');
}

export function isUtf8({ headers }: Request): boolean {
  return /^utf-?8$/i.test(charset.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8');
}

export const hasReadableType = (request: Request): boolean =>
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
  return bodyError(type === 'encoding.unsupported' ? 'ERR00415' : 'ERR00003');
}

export function decode(bytes: Uint8Array, bodyError: BodyError): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw bodyError('ERR00003');
  }
}

export function parseJson(bytes: Uint8Array, bodyError: BodyError): unknown {
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
