// What did the client send? A JSON object in UTF-8 of at most 100 kB; anything else is 413, 415 or ERR00003 (contract section 7).
import express, { type Request, type Response } from 'express';
import { apiError } from '../errors.ts';

const readBytes = express.raw({ type: () => true, limit: 100_000 });
const utf8 = new TextDecoder('utf-8', { fatal: true });
const json = /^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i;

/** Whether the request has a body at all, be it empty. */
export function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

export function isJson(request: Request): boolean {
  return json.test(request.headers['content-type'] ?? '');
}

/** Where a body is `optional`, an empty one is none: on some ways here a request without a body becomes one of no chunks. */
export async function readJsonObject(
  request: Request,
  response: Response,
  { optional = false } = {},
): Promise<Record<string, unknown>> {
  if (hasBody(request)) {
    const type = request.headers['content-type'] ?? '';
    if (!json.test(type)) throw apiError('ERR00415');
    if (!/^utf-?8$/i.test(charset.exec(type)?.[1] ?? 'utf-8')) throw apiError('ERR00415');
  }
  await new Promise<void>((resolve, reject) => {
    readBytes(request, response, (error?: unknown) => (error ? reject(refusal(error)) : resolve()));
  });
  const bytes: unknown = request.body;
  if (optional && Buffer.isBuffer(bytes) && bytes.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(Buffer.isBuffer(bytes) ? bytes : new Uint8Array()));
  } catch (cause) {
    throw apiError('ERR00003', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw apiError('ERR00003');
  return value as Record<string, unknown>;
}

/** body-parser names what went wrong by `type`. */
function refusal(cause: unknown): Error {
  const { type } = cause as { type?: string };
  if (type === 'entity.too.large') return apiError('ERR00413', { cause });
  if (type === 'encoding.unsupported') return apiError('ERR00415', { cause });
  return apiError('ERR00003', { cause });
}
