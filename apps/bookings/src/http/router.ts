// Routes requests to endpoints. Every request passes the same steps: authorize → rate limit → negotiate → validate →
// handle → send.
import type { Endpoint, EndpointRequest, Schema } from '@bay-booking/common/endpoint';
import { readQueryString } from '@bay-booking/common/query-string';
import { createValidator, type Formats, type Validate, type Validated } from '@bay-booking/common/validation';
import type { RequestLocals } from '@bay-booking/service/http/app';
import type { Express, Request, RequestHandler, Response } from 'express';
import type { Authorize } from '../auth/access-token.ts';
import type { Caller } from '../auth/caller.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import type { RateLimit } from './rate-limit.ts';
import { hasBody, isJson, readJsonObject } from './request-body.ts';
import { sendResponse, sendWithoutBody } from './response.ts';

export interface RouterOptions {
  readonly authorize: Authorize;
  readonly rateLimit: RateLimit | undefined;
  /** The string formats that the schemas of the endpoints use. */
  readonly formats: Formats;
}

export function mountEndpoints(app: Express, endpoints: readonly Endpoint<Caller>[], options: RouterOptions): void {
  const compile = createValidator(options.formats);
  for (const [path, endpointsOfPath] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const handlers = new Map<string, RequestHandler>();
    for (const endpoint of endpointsOfPath) handlers.set(endpoint.method, createHandler(endpoint, compile, options));
    const get = handlers.get('GET');
    if (get) handlers.set('HEAD', get);
    mountPath(app, path, handlers, endpointsOfPath[0]?.errorContext);
  }
}

/**
 * Mounts the handlers of one path, by method. OPTIONS returns the allowed methods, and any other method is a 405 error.
 * `errorContext` is the default `contextData` of the path's errors.
 */
export function mountPath(
  app: Express,
  path: string,
  handlers: ReadonlyMap<string, RequestHandler>,
  errorContext: Readonly<Record<string, unknown>> = {},
): void {
  const allow = [...handlers.keys(), 'OPTIONS'].join(', ');
  const preflightHeaders = {
    Allow: allow,
    'Access-Control-Allow-Methods': allow,
    'Access-Control-Allow-Headers':
      'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id, traceparent, tracestate',
    'Access-Control-Max-Age': '7200',
  };
  app.all(path.replace(/\{(\w+)\}/g, ':$1'), (request, response, next) => {
    (response.locals as RequestLocals).route = path;
    response.locals.errorContext = errorContext;
    const handler = handlers.get(request.method);
    if (handler) return handler(request, response, next);
    if (request.method === 'OPTIONS') return sendWithoutBody(response, 204, preflightHeaders);
    throw apiError('ERR00405', { headers: { Allow: allow } });
  });
}

/** For a path whose methods are handled by routes that were mounted before. */
export function mountMethodNotAllowed(app: Express, path: string, methods: readonly string[]): void {
  const passOn: RequestHandler = (_request, _response, next) => next();
  mountPath(app, path, new Map(methods.map((method) => [method, passOn])));
}

function createHandler(
  endpoint: Endpoint<Caller>,
  compile: (schema: Schema) => Validate,
  { authorize, rateLimit }: RouterOptions,
) {
  const queryProperties = propertiesOf(endpoint.query);
  const bodyProperties = propertiesOf(endpoint.body);
  const validateQuery = endpoint.query && compile(endpoint.query);
  const validateBody = endpoint.body && compile(endpoint.body);
  const optional = endpoint.bodyUse === 'optional';
  /** An optional body is only read for fields that the query lacks: `endDate` of a search may be in either. */
  const needsBody = (request: Request, query: Readonly<Record<string, unknown>>): boolean =>
    !optional ||
    (hasBody(request) && isJson(request) && Object.keys(bodyProperties).some((name) => query[name] === undefined));

  return async (request: Request, response: Response): Promise<void> => {
    const caller = await authorize(request.headers.authorization);
    if (rateLimit) {
      const headers = await rateLimit(caller);
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    }
    if (!acceptsJson(request)) throw apiError('ERR00406');
    const queryInput = validateQuery ? readQueryString(queryStringOf(request.url), queryProperties) : {};
    const query = validateQuery ? validateQuery(queryInput) : noInput;
    const body =
      validateBody && needsBody(request, queryInput)
        ? validateBody(await readJsonObject(request, response, { optional }))
        : noInput;
    const validationErrors = [...query.validationErrors, ...body.validationErrors];
    if (validationErrors.length > 0 && !endpoint.reportsValidationErrors)
      throw badRequest(problemsOf(validationErrors, endpoint.errorContext));
    const endpointRequest: EndpointRequest<unknown, unknown, Caller> = {
      params: request.params as Record<string, string>,
      query: query.value,
      body: body.value,
      validationErrors,
      header: (name) => request.get(name),
      caller,
    };
    const result = await endpoint.handle(endpointRequest as EndpointRequest<never, never, Caller>);
    sendResponse(request, response, result);
  };
}

const noInput: Validated = { value: {}, validationErrors: [] };

function propertiesOf(schema: Schema | undefined): Readonly<Record<string, Schema>> {
  return (schema?.properties as Record<string, Schema> | undefined) ?? {};
}

function queryStringOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

function acceptsJson(request: Request): boolean {
  const { accept } = request.headers;
  // The common cases are decided without parsing the header.
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return true;
  return request.accepts(['application/json', 'application/json; charset=utf-8']) !== false;
}
