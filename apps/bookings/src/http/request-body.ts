// Reads request bodies (docs/behaviour.md, "Request bodies").
import {
  decode,
  hasFormType,
  hasJsonType,
  hasReadableType,
  isObject,
  isUtf8,
  parseJson,
  parseJsonObject,
  readBytes,
} from '@bay-booking/service/http/request-body';
import type { Request, RequestHandler, Response } from 'express';
import { apiError } from '../errors.ts';

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
  if (hasBody(request) && !hasReadableType(request)) throw apiError('ERR00415');
  const bytes = await readBytes(request, response, readRawBody, apiError);
  if (!isJson(request, bytes)) throw apiError('ERR00415');
  return parseJsonObject(bytes, apiError);
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
  const bytes = await readBytes(request, response, readRawBody, apiError);
  if (bytes.length === 0) return {};
  if (!isUtf8(request)) throw apiError('ERR00003');
  if (!isJson(request, bytes)) {
    if (hasFormType(request)) return Object.fromEntries(new URLSearchParams(decode(bytes, apiError)));
    throw apiError('ERR00003');
  }
  const value = parseJson(bytes, apiError);
  if (typeof value === 'string' && stringField !== undefined) return { [stringField]: value };
  if (!isObject(value)) throw apiError('ERR00003');
  return value;
}

/** A chunked body can still turn out to be empty. */
function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** `curl -d` sends a JSON object with the type of a form. No form begins with a brace. */
function isJson(request: Request, bytes: Buffer): boolean {
  return hasJsonType(request) || (hasFormType(request) && /^\s*\{/.test(bytes.toString('latin1', 0, 1_000)));
}
