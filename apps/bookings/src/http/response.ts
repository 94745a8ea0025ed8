// How does an answer leave? One place writes status, headers and JSON, for success and failure alike. Contract section 7.

import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { type ApiError, errorEnvelope, type Problem } from '@bay-booking/common/errors';
import { commonHeaders } from '@bay-booking/service/http/app';
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

const everyAnswer = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposed,
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000',
  'X-Frame-Options': 'DENY',
} as const;
const noContent = { 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'" } as const;
const failed = { 'Cache-Control': 'no-store', 'Content-Type': 'application/json; charset=utf-8' } as const;

/** Headers of every failure, beside those of the service: any origin may read it, no browser shall render, frame or sniff it. */
export const failureHeaders: Readonly<Record<string, string>> = { ...everyAnswer, ...noContent, ...failed };

const everywhere = listed(everyAnswer);
const withoutContent = listed(noContent);
const read = listed({ ...noContent, 'Cache-Control': 'private, no-cache' });
const written = listed({ ...noContent, 'Cache-Control': 'no-store' });
const json = listed({ 'Content-Type': failed['Content-Type'] });

/** As node takes headers fastest: names and values by turns. */
function listed(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat();
}

/** The one place where a head is written; `headers` are names and values by turns. */
export function send(response: Response, status: number, headers: readonly string[], text?: string): void {
  const head = [...commonHeaders(response), ...everywhere, ...headers];
  if (text === undefined) {
    response.writeHead(status, head).end();
    return;
  }
  const bytes = Buffer.byteLength(text);
  head.push('Content-Length', String(bytes));
  // What is ASCII need not be encoded.
  response.writeHead(status, head).end(text, bytes === text.length ? 'latin1' : 'utf8');
}

/** An answer that is the same for everybody, with a policy for its content of its own. */
export function sendDocument(response: Response, text: string, headers: Readonly<Record<string, string>>): void {
  const policy = 'Content-Security-Policy' in headers ? [] : withoutContent;
  send(response, 200, [...policy, 'Cache-Control', 'public, max-age=300', ...listed(headers)], text);
}

export function sendNothing(response: Response, status: number, headers: Readonly<Record<string, string>>): void {
  send(response, status, [...withoutContent, ...listed(headers)]);
}

export function sendResponse(request: Request, response: Response, answer: EndpointResponse): void {
  const { status, body, headers } = answer;
  const reading = request.method === 'GET' || request.method === 'HEAD';
  const head = [...(reading ? read : written)];
  for (const name in headers) head.push(name, headers[name] as string);
  const etag = headers?.ETag;
  if (reading && etag !== undefined && satisfies(request.headers['if-none-match'], etag)) {
    send(response, 304, head);
    return;
  }
  const text = answer.json ?? (body === undefined ? undefined : JSON.stringify(body));
  if (text !== undefined) head.push(...json);
  send(response, status, head, text);
}

export function sendError(
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
  send(response, status, [...withoutContent, ...listed(failed), ...listed(headers)], text);
}
