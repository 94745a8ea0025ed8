// Routes requests to endpoints: authorizes, checks, negotiates, reads and validates, handles, sends.
import type { Endpoint, EndpointRequest, EndpointResponse } from '@bay-booking/common/endpoint';
import { ApiError, type ApiErrors } from '@bay-booking/common/errors';
import { isStorable } from '@bay-booking/common/text';
import { stringify } from 'csv-stringify/sync';
import type { Request, RequestHandler, Response, Router } from 'express';
import { isUnavailable } from '../../database/database.ts';
import type { RequestLocals } from '../app.ts';
import { isNotModified } from '../etag.ts';
import { createInputReaders, type InputOptions } from './input.ts';
import { isStrict } from './preferences.ts';

const jsonOrCsv = 'Only application/json and text/csv can be answered.';
const strictHandling = 'handling=strict';
/** A media range for JSON or for a type that ends with +json. */
const anyJsonType = /^\s*(?:application|text)\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
/** The client does not accept a media range with the weight `q=0`. */
const zeroQuality = /;\s*q=0(?:\.0*)?\s*(?:;|$)/i;

export interface PathOptions {
  readonly errors: ApiErrors;
  /** The headers that scripts of other origins may send. Undefined if they may not use the API. */
  readonly allowedHeaders?: string;
}

export interface ApiOptions<Caller> extends PathOptions, InputOptions {
  /** @throws {ApiError} 401, 403 or 503 */
  readonly authorize: (request: Request) => Promise<Caller>;
  /** What else must be true before the input is read. Returns headers of the response. @throws {ApiError} */
  readonly check?: (
    caller: Caller,
    endpoint: Endpoint<Caller>,
  ) => Promise<Readonly<Record<string, string>>> | undefined;
  /** `Cache-Control` of responses to GET. */
  readonly cacheControl: string;
}

export function mountEndpoints<Caller extends { readonly clientId: string; readonly subject?: string | null }>(
  router: Router,
  endpoints: readonly Endpoint<Caller>[],
  options: ApiOptions<Caller>,
): void {
  const readerOf = createInputReaders(options);
  const handlerOf = (endpoint: Endpoint<Caller>): RequestHandler => {
    const { authorize, check, errors, reading, cacheControl } = options;
    const readInput = readerOf(endpoint as Endpoint<never>);
    const writeCsv = createCsvWriter(endpoint as Endpoint<never>);
    return async (request, response) => {
      const locals = response.locals as RequestLocals & { errorContext?: Endpoint['errorContext'] };
      const caller = await authorize(request);
      locals.clientId = caller.clientId;
      if (caller.subject) locals.subject = caller.subject;
      const headers = await check?.(caller, endpoint);
      for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
      if (writeCsv) response.vary('Accept');
      const isCsv = writeCsv !== undefined && prefersCsv(request);
      if (!isCsv && !acceptsJson(request)) throw errors.apiError('ERR00406', writeCsv && { description: jsonOrCsv });
      if (endpoint.timeoutSeconds !== undefined) request.setTimeout(endpoint.timeoutSeconds * 1_000);
      const prefersStrict = reading === 'lenient' && isStrict(request.get('prefer'));
      const params = request.params as Record<string, string>;
      const rejectsUnknown = prefersStrict || reading === 'strict';
      const input = await readInput(request, response, rejectsUnknown).catch(async (error: unknown) => {
        if (endpoint.findErrorContext) locals.errorContext = await endpoint.findErrorContext({ params, caller });
        throw error;
      });
      // The response to validation errors has this header too.
      if (prefersStrict) response.setHeader('Preference-Applied', strictHandling);
      const { validationErrors } = input;
      const endpointRequest: EndpointRequest<unknown, unknown, Caller> = {
        path: request.path,
        params,
        ...input,
        header: (name) => request.get(name),
        caller,
        requestId: locals.requestId,
      };
      const handle = async (): Promise<EndpointResponse> => {
        if (validationErrors.length > 0 && !endpoint.handlesValidationErrors)
          throw errors.badRequest(errors.problemsOf(validationErrors, endpoint.errorContext));
        if (!Object.values(params).every(isStorable)) throw errors.apiError('ERR00404');
        // The list of endpoints lacks the types of query and body, which `readInput` has validated.
        return endpoint.handle(endpointRequest as EndpointRequest<never, never, Caller>);
      };
      const isDescribed = endpoint.describesDryRun && (input.query as { readonly dryRun?: unknown }).dryRun === true;
      const result = isDescribed ? await describe(handle, endpoint, errors) : await handle();
      const sent = prefersStrict ? withStrictHandling(result) : result;
      sendResponse(request, response, sent, cacheControl, isCsv ? writeCsv : undefined);
    };
  };
  for (const [path, endpointsOfPath] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const handlers = endpointsOfPath.map((endpoint) => [endpoint.method, handlerOf(endpoint)]);
    // All endpoints of a path have the same `errorContext`.
    mountPath(router, path, Object.fromEntries(handlers), options, endpointsOfPath[0]?.errorContext);
  }
}

/** Mounts the handlers of one path, by method, and the responses to HEAD, OPTIONS and other methods. */
export function mountPath(
  router: Router,
  path: string,
  handlersByMethod: Readonly<Record<string, RequestHandler>>,
  { errors, allowedHeaders }: PathOptions,
  errorContext: Readonly<Record<string, unknown>> = {},
): void {
  const handlers = new Map(Object.entries(handlersByMethod));
  const get = handlers.get('GET');
  // Node does not send the body of a response to HEAD.
  if (get) handlers.set('HEAD', get);
  const allow = [...handlers.keys(), 'OPTIONS'].join(', ');
  const preflightHeaders = {
    Allow: allow,
    ...(allowedHeaders !== undefined && {
      'Access-Control-Allow-Methods': allow,
      'Access-Control-Allow-Headers': allowedHeaders,
      'Access-Control-Max-Age': '7200',
    }),
  };
  router.all(path.replace(/\{(\w+)\}/g, ':$1'), (request, response, next) => {
    (response.locals as RequestLocals).route = path;
    response.locals.errorContext = errorContext;
    const handler = handlers.get(request.method);
    if (handler) return handler(request, response, next);
    if (request.method === 'OPTIONS') return void response.set(preflightHeaders).status(204).end();
    throw errors.apiError('ERR00405', { headers: { Allow: allow } });
  });
}

/** Says what a change would do, also if it would fail. */
async function describe(
  handle: () => Promise<EndpointResponse>,
  { method }: Pick<Endpoint, 'method'>,
  errors: ApiErrors,
): Promise<EndpointResponse> {
  try {
    const { action = method === 'DELETE' ? 'delete' : 'update' } = await handle();
    return { status: 200, body: { action, errors: [] } };
  } catch (error) {
    const { status, problems } = apiErrorOf(error, errors);
    if (status >= 500) throw error;
    return { status: 200, body: { action: 'error', errors: problems } };
  }
}

export function apiErrorOf(error: unknown, { apiError, unavailable }: ApiErrors): ApiError {
  if (error instanceof ApiError) return error;
  const { status } = error as { readonly status?: number };
  if (isUnavailable(error) || status === 503) return unavailable(error);
  // Express cannot decode the path.
  return status === 400 ? apiError('ERR00404') : apiError('ERR00500', { cause: error });
}

/** The header of the endpoint would replace the header of the router. */
function withStrictHandling(result: EndpointResponse): EndpointResponse {
  const applied = result.headers?.['Preference-Applied'];
  if (applied === undefined) return result;
  return { ...result, headers: { ...result.headers, 'Preference-Applied': `${strictHandling}, ${applied}` } };
}

function acceptsJson(request: Request): boolean {
  const { accept } = request.headers;
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return true;
  return (
    // `accepts` also compares the charset, which a client may name.
    request.accepts(['application/json', 'application/json; charset=utf-8']) !== false ||
    accept.split(',').some((range) => anyJsonType.test(range) && !zeroQuality.test(range))
  );
}

function sendResponse(
  request: Request,
  response: Response,
  result: EndpointResponse,
  cacheControl: string,
  /** Default: the body is sent as JSON. */
  writeCsv?: (body: unknown) => string,
): void {
  const { status, body, bodyText, headers = {} } = result;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  response.setHeader('Cache-Control', isRead ? cacheControl : 'no-store');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // `request.fresh` of Express is false for every `fetch` with If-None-Match, because `fetch` adds
  // `Cache-Control: no-cache`.
  if (isRead && headers.ETag !== undefined && isNotModified(request.get('if-none-match'), headers.ETag))
    response.status(304).end();
  else if (body === undefined && bodyText === undefined) response.status(status).end();
  else if (writeCsv) sendText(response.status(status), writeCsv(body), 'text/csv');
  else sendText(response.status(status), bodyText ?? JSON.stringify(body), 'application/json');
}

/** `json` of Express parses the content type of each response again: 8 % of the CPU time of a GET. */
function sendText(response: Response, text: string, type: string): void {
  const bytes = Buffer.byteLength(text);
  response.setHeader('Content-Type', `${type}; charset=utf-8`);
  response.setHeader('Content-Length', bytes);
  // Node writes Latin-1 faster than UTF-8. The bytes of ASCII are the same in both.
  response.end(text, bytes === text.length ? 'latin1' : 'utf8');
}

/**
 * Returns a function that writes the list of a response as CSV (RFC 4180), which spreadsheets open. Undefined if the
 * endpoint has no `tableField`.
 */
function createCsvWriter({ tableField, success }: Endpoint<never>): ((body: unknown) => string) | undefined {
  if (tableField === undefined) return undefined;
  const lists = success.schema?.properties as Readonly<Record<string, { readonly items: { properties: object } }>>;
  const columns = Object.keys(lists[tableField]?.items.properties ?? {});
  return (body) =>
    stringify((body as Readonly<Record<string, object[]>>)[tableField] ?? [], {
      columns,
      header: true,
      record_delimiter: 'windows',
      // A spreadsheet would run a cell that begins with = as a formula.
      escape_formulas: true,
    });
}

/** Whether the client prefers CSV to JSON. */
const prefersCsv = (request: Request): boolean =>
  String(request.accepts(['application/json', 'text/csv', 'text/csv; charset=utf-8'])).startsWith('text/csv');
