// Writes responses: status, headers and body, for successful requests and errors (docs/behaviour.md, "Status codes").
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { type ApiError, errorEnvelope } from '@bay-booking/common/errors';
import { commonHeaders } from '@bay-booking/service/http/app';
import type { Request, Response } from 'express';
import type { PublicDocument } from '../openapi/public-document.ts';
import { isNotModified } from './etag.ts';

type Headers = Readonly<Record<string, string>>;

const exposedHeaders = [
  'DPoP-Nonce',
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Limit',
  'RateLimit-Policy',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ');

/** Any origin may read the responses, because they depend on a token and never on a cookie. */
const headersOfEveryResponse = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposedHeaders,
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000',
  'X-Frame-Options': 'DENY',
} as const;
/** If a browser shows a response as a document, the document can load nothing and run no scripts. */
const strictPolicy = { 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'" } as const;
const jsonType = { 'Content-Type': 'application/json; charset=utf-8' } as const;
const noStore = { 'Cache-Control': 'no-store' } as const;

/** The headers of every error response, except those that packages/service adds to all responses. */
export const errorHeaders: Headers = { ...headersOfEveryResponse, ...strictPolicy, ...noStore, ...jsonType };

// Most responses share these headers, so they are converted by `flatten` once, and not for each response.
const flatStrictHeaders = flatten({ ...headersOfEveryResponse, ...strictPolicy });
const flatReadHeaders = [...flatStrictHeaders, 'Cache-Control', 'private, no-cache'];
const flatWriteHeaders = [...flatStrictHeaders, ...flatten(noStore)];
const flatErrorHeaders = flatten(errorHeaders);
const flatJsonType = flatten(jsonType);

/** Returns alternating names and values, the form of headers that Node writes fastest. */
function flatten(headers: Headers): string[] {
  return Object.entries(headers).flat();
}

/** Sends the result of an endpoint, or 304 if the client already has this version. */
export function sendResponse(request: Request, response: Response, result: EndpointResponse): void {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const isCacheable = isRead && result.headers?.['Cache-Control'] === undefined;
  const headers = [...commonHeaders(response), ...(isCacheable ? flatReadHeaders : flatWriteHeaders)];
  // The only value of Cache-Control that an endpoint sets is `no-store`, which `flatWriteHeaders` already contains.
  for (const name in result.headers) if (name !== 'Cache-Control') headers.push(name, result.headers[name] as string);
  const etag = result.headers?.ETag;
  if (isRead && etag !== undefined && isNotModified(request.headers['if-none-match'], etag)) {
    send(response, 304, headers);
    return;
  }
  const text = result.body === undefined ? undefined : JSON.stringify(result.body);
  if (text !== undefined) headers.push(...flatJsonType);
  send(response, result.status, headers, text);
}

/**
 * Sends the error envelope, or closes the connection if a response has already begun. The `contextData` of each problem
 * also gets the fields of `defaultContext`, except those that the problem itself sets.
 */
export function sendError(
  response: Response,
  { status, problems, headers }: ApiError,
  defaultContext: Readonly<Record<string, unknown>> = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const envelope = errorEnvelope(
    problems.map((problem) => ({ ...problem, contextData: { ...defaultContext, ...problem.contextData } })),
  );
  const allHeaders = [...commonHeaders(response), ...flatErrorHeaders, ...flatten(headers)];
  send(response, status, allHeaders, JSON.stringify(envelope));
}

/**
 * Sends a public document, in gzip if the client accepts gzip. Sends 304 if the client already has this version.
 */
export async function sendDocument(request: Request, response: Response, document: PublicDocument): Promise<void> {
  const etag = `"${document.hash}"`;
  const headers = [
    ...commonHeaders(response),
    ...flatten({
      ...headersOfEveryResponse,
      ...strictPolicy,
      'Cache-Control': 'public, max-age=300',
      ...document.headers,
    }),
    // The entity tag is weak, because the compressed and the plain content share it.
    ...['ETag', `W/${etag}`, 'Vary', 'Accept-Encoding'],
  ];
  if (isNotModified(request.headers['if-none-match'], etag)) {
    response.writeHead(304, headers).end();
    return;
  }
  const isCompressed = request.acceptsEncodings('gzip') === 'gzip';
  const content = isCompressed ? await document.compressed() : document.content;
  if (isCompressed) headers.push('Content-Encoding', 'gzip');
  headers.push('Content-Length', String(content.length));
  response.writeHead(200, headers).end(content);
}

export function sendWithoutBody(response: Response, status: number, headers: Headers): void {
  send(response, status, [...commonHeaders(response), ...flatStrictHeaders, ...flatten(headers)]);
}

/** Sends a response with the body `text`, or without a body. `headers` alternates names and values. */
function send(response: Response, status: number, headers: string[], text?: string): void {
  if (text === undefined) {
    response.writeHead(status, headers).end();
    return;
  }
  const bytes = Buffer.byteLength(text);
  headers.push('Content-Length', String(bytes));
  // Node writes latin1 faster than UTF-8. For ASCII text, whose characters have one byte each, the bytes are the same.
  response.writeHead(status, headers).end(text, bytes === text.length ? 'latin1' : 'utf8');
}
