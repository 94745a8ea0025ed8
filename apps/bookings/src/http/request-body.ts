// Reads a request body that must be a JSON object in UTF-8 of at most 100 kB (docs/behaviour.md, "Status codes").
import express, { type Request, type Response } from 'express';
import { apiError } from '../errors.ts';

const readBytes = express.raw({ type: () => true, limit: 100_000 });
const utf8 = new TextDecoder('utf-8', { fatal: true });
const jsonType = /^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i;

/** Whether the request announces a body. A chunked body can still turn out to be empty. */
export function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

export function isJson(request: Request): boolean {
  return jsonType.test(request.headers['content-type'] ?? '');
}

/**
 * With `optional`, an empty body counts as `{}`: some proxies turn a request without a body into a chunked request of
 * length 0.
 * @throws {ApiError} 400 if the body is not a JSON object, 413 if it is too large, 415 for another type or charset
 */
export async function readJsonObject(
  request: Request,
  response: Response,
  { optional = false } = {},
): Promise<Record<string, unknown>> {
  if (hasBody(request) && !(isJson(request) && isUtf8(request))) throw apiError('ERR00415');
  await new Promise<void>((resolve, reject) => {
    readBytes(request, response, (error?: unknown) => (error ? reject(apiErrorOf(error)) : resolve()));
  });
  const bytes: Buffer = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (optional && bytes.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw apiError('ERR00003', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw apiError('ERR00003');
  return value as Record<string, unknown>;
}

function isUtf8(request: Request): boolean {
  return /^utf-?8$/i.test(charset.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8');
}

/** `cause` is an error of body-parser, which says in `type` what went wrong. */
function apiErrorOf(cause: unknown): Error {
  const { type } = cause as { type?: string };
  if (type === 'entity.too.large') return apiError('ERR00413', { cause });
  if (type === 'encoding.unsupported') return apiError('ERR00415', { cause });
  return apiError('ERR00003', { cause });
}
