// Sends the responses of endpoints.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { Request, Response } from 'express';
import { isNotModified } from '../etag.ts';

export function sendResponse(
  request: Request,
  response: Response,
  result: EndpointResponse,
  cacheControl: string,
): void {
  const { status, body, headers = {} } = result;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  response.setHeader('Cache-Control', isRead ? cacheControl : 'no-store');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // `request.fresh` of Express is false for every `fetch` with If-None-Match, because `fetch` adds
  // `Cache-Control: no-cache`.
  if (isRead && headers.ETag !== undefined && isNotModified(request.get('if-none-match'), headers.ETag))
    response.status(304).end();
  else if (body === undefined) response.status(status).end();
  else sendJson(response.status(status), body);
}

/** `json` of Express parses the content type of each response again: 8 % of the CPU time of a GET. */
function sendJson(response: Response, body: unknown): void {
  const text = JSON.stringify(body);
  const bytes = Buffer.byteLength(text);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', bytes);
  // Node writes Latin-1 faster than UTF-8. The bytes of ASCII are the same in both.
  response.end(text, bytes === text.length ? 'latin1' : 'utf8');
}
