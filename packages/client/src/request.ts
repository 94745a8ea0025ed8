// Builds the request of an endpoint, sends it with retries and reads the response.
import type { AuthorizedFetch } from './authorized-fetch.ts';
import {
  BookingsApiError,
  BookingsConnectionError,
  BookingsError,
  BookingsStepUpError,
  type Problem,
  requiresStepUp,
} from './errors.ts';
import { operationsById } from './generated/operations.ts';
import type { ApiResponse, OperationId, RequestOptions, Send } from './operations.ts';
import type { RetryOptions } from './options.ts';
import { retry } from './retry.ts';
import { withTimeout } from './timeout.ts';

export interface SendOptions {
  readonly baseUrl: URL;
  readonly authorizedFetch: AuthorizedFetch;
  readonly retryOptions: RetryOptions;
  readonly timeoutMs: number;
  readonly strict: boolean;
}

interface UntypedRequest extends RequestOptions {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  /** The query string of a link that the service returned. It replaces `query`. */
  readonly search?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string | undefined;
}

export function createSend({ baseUrl, authorizedFetch, retryOptions, timeoutMs, strict }: SendOptions): Send {
  const send = async (id: OperationId, request: UntypedRequest): Promise<ApiResponse<unknown>> => {
    const { method, path, acceptsIdempotencyKey } = operationsById[id];
    const url = urlOf(baseUrl, path, request);
    const headers = new Headers({ Accept: 'application/json', ...request.headers });
    const body = request.body === undefined ? undefined : JSON.stringify(withoutEtag(request.body));
    // Other preferences of the request, such as `wait`, stay.
    if (strict) headers.append('Prefer', 'handling=strict');
    if (body !== undefined) headers.set('Content-Type', 'application/json');
    if (acceptsIdempotencyKey && !headers.has('Idempotency-Key'))
      headers.set('Idempotency-Key', request.idempotencyKey ?? newKey());
    // If a PUT with If-Match succeeded and its response was lost, a second one would get 412.
    const isRepeatable =
      method === 'GET' ||
      method === 'DELETE' ||
      (method === 'POST' ? acceptsIdempotencyKey === true : !headers.has('If-Match'));

    const attempt = (earlierAttemptMayHaveSucceeded: boolean): Promise<ApiResponse<unknown>> =>
      sendAttempt(`${method} ${url.pathname}`, { timeoutMs, ...request }, async (signal) => {
        const response = await authorizedFetch(url, { method, headers, body, signal });
        // An earlier attempt probably deleted the resource, and its response was lost.
        if (method === 'DELETE' && response.status === 404 && earlierAttemptMayHaveSucceeded)
          return { status: 204, headers: response.headers, data: undefined };
        return readResponse(response);
      });
    return retry(attempt, isRepeatable, retryOptions, request.signal);
  };
  return send as Send;
}

/** @throws {BookingsError} unless the caller's signal has aborted the attempt */
export async function sendAttempt<T>(
  name: string,
  { timeoutMs = 10_000, signal }: RequestOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withTimeout(timeoutMs, signal, work);
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    if (cause instanceof BookingsError) throw cause;
    throw new BookingsConnectionError(`${name}: no response`, { cause });
  }
}

/** The client adds `etag` to resources (versions.ts). The service does not know this field. */
function withoutEtag(resource: unknown): unknown {
  if (typeof resource !== 'object' || resource === null) return resource;
  const { etag: _, bookings, ...fields } = resource as { readonly etag?: unknown; readonly bookings?: unknown };
  return {
    ...fields,
    ...(bookings !== undefined && { bookings: Array.isArray(bookings) ? bookings.map(withoutEtag) : bookings }),
  };
}

/** `crypto.randomUUID` exists only on https pages and on localhost. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @throws {TypeError} if a value would change which resource the URL names, such as an empty id in the path */
function urlOf(baseUrl: URL, template: string, { path = {}, query = {}, search }: UntypedRequest): URL {
  const url = new URL(baseUrl);
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathSegment(name, path[name]));
  url.pathname = url.pathname.replace(/\/$/, '') + filled;
  if (search !== undefined) url.search = search;
  else for (const [name, value] of Object.entries(query)) appendTo(url.searchParams, name, value);
  return url;
}

export function pathSegment(name: string, value: string | undefined): string {
  // The URL parser would remove such a segment. The URL would then name a list or another resource.
  if (!value || value === '.' || value === '..') throw new TypeError(`${name} is not an id: ${value}`);
  return encodeURIComponent(value);
}

function appendTo(parameters: URLSearchParams, name: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null) {
    parameters.append(name, String(value));
    return;
  }
  // The brackets tell the service that a comma is part of the value.
  const members = Array.isArray(value) ? value.map((element) => ['', element]) : Object.entries(value);
  // The service ignores an empty filter and would return every resource.
  if (members.length === 0) throw new TypeError(`${name} is an empty ${Array.isArray(value) ? 'array' : 'object'}`);
  for (const [member, element] of members) parameters.append(`${name}[${member}]`, String(element));
}

export async function readResponse(response: Response): Promise<ApiResponse<unknown>> {
  const { ok, status, headers } = response;
  const text = await response.text();
  if (requiresStepUp(response)) throw new BookingsStepUpError(status, problemsOf(text), headers);
  if (!ok && status !== 304) throw new BookingsApiError(status, problemsOf(text), headers);
  return { status, headers, data: text === '' ? undefined : JSON.parse(text) };
}

/**
 * Returns an empty array if the body is neither an error envelope nor an error of the authorization server, for example
 * because a proxy sent the response.
 */
function problemsOf(text: string): readonly Problem[] {
  try {
    const { errors, error: code, error_description: description } = JSON.parse(text);
    if (typeof code === 'string' && description) return [{ code, description, moreInfo: '', contextData: {} }];
    return Array.isArray(errors) ? errors : [];
  } catch {
    return [];
  }
}
