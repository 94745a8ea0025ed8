// How does an answer leave? One place writes status, headers and JSON, for success and failure alike. Contract section 7.

import type { Answer } from '@bay-booking/common/endpoint';
import { type ApiError, errorEnvelope, type Problem } from '@bay-booking/common/errors';
import type { Request, Response } from 'express';
import { satisfies } from './etag.ts';

const exposed = [
  'ETag',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Limit',
  'RateLimit-Policy',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ');

/** Headers of every answer: any origin may read it, no browser shall render, frame or sniff it. */
export const everywhere: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposed,
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000',
  'X-Frame-Options': 'DENY',
};

const jsonType = 'application/json; charset=utf-8';

export function sendAnswer(request: Request, response: Response, { status, body, json, headers = {} }: Answer): void {
  const etag = headers.ETag;
  const reading = request.method === 'GET' || request.method === 'HEAD';
  const common = { ...everywhere, 'Cache-Control': reading ? 'private, no-cache' : 'no-store', ...headers };
  if (reading && etag !== undefined && satisfies(request.headers['if-none-match'], etag)) {
    response.writeHead(304, common).end();
    return;
  }
  if (body === undefined && json === undefined) {
    response.writeHead(status, common).end();
    return;
  }
  const text = json ?? JSON.stringify(body);
  response
    .writeHead(status, { ...common, 'Content-Type': jsonType, 'Content-Length': Buffer.byteLength(text) })
    .end(text);
}

export function sendFailure(
  response: Response,
  { status, problems, headers }: ApiError,
  context: Readonly<Record<string, unknown>> = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // What failed before the endpoint could look at the request says no more than where it failed.
  const inContext = (problem: Problem): Problem => ({
    ...problem,
    contextData: { ...context, ...problem.contextData },
  });
  const text = JSON.stringify(errorEnvelope(problems.map(inContext)));
  response
    .writeHead(status, {
      ...everywhere,
      'Cache-Control': 'no-store',
      'Content-Type': jsonType,
      'Content-Length': Buffer.byteLength(text),
      ...headers,
    })
    .end(text);
}
