// Routes requests to endpoints: authorizes, checks the scope, limits the rate, negotiates, validates, handles, sends.
import type { Endpoint, EndpointRequest, EndpointResponse, Schema } from '@bay-booking/common/endpoint';
import { findUnknownParameters, readQueryString } from '@bay-booking/common/query-string';
import type { Access } from '@bay-booking/common/scopes';
import { createValidator, type Formats, type Validate, type ValidationError } from '@bay-booking/common/validation';
import type { RequestLocals } from '@bay-booking/service/http/app';
import { rawBody } from '@bay-booking/service/http/request-body';
import type { Request, RequestHandler, Response, Router } from 'express';
import type { Authorize } from '../auth/access-token.ts';
import type { Caller } from '../auth/caller.ts';
import type { AuthorizedRequest } from '../auth/dpop.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import { findUnknownFields, isStrict } from './preferences.ts';
import type { RateLimit } from './rate-limit.ts';
import { readJsonObject, readJsonObjectAsSent, readOptionalBody } from './request-body.ts';
import { sendResponse } from './response.ts';

const strictHandling = 'handling=strict';
/** A media range for JSON or for a type that ends with +json. */
const anyJsonType = /^\s*(?:application|text)\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
/** The client does not accept a media range with the weight `q=0`. */
const zeroQuality = /;\s*q=0(?:\.0*)?\s*(?:;|$)/i;

const noFields: Schema = { type: 'object' };

export interface RouterOptions {
  readonly authorize: Authorize;
  /** @throws {ApiError} 403 */
  readonly checkScope: (caller: Caller, access: Access) => void;
  /** @throws {ApiError} 401 if the user must sign in again */
  readonly checkStepUp?: ((caller: Caller, endpoint: Pick<Endpoint, 'method' | 'path'>) => void) | undefined;
  readonly onCaller: ((caller: Caller) => void) | undefined;
  readonly rateLimit: RateLimit | undefined;
  readonly formats: Formats;
}

export function mountEndpoints(router: Router, endpoints: readonly Endpoint<Caller>[], options: RouterOptions): void {
  const compile = createValidator(options.formats);
  for (const [path, endpointsOfPath] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const handlers = endpointsOfPath.map((endpoint) => [endpoint.method, createHandler(endpoint, compile, options)]);
    // All endpoints of a path have the same `errorContext`.
    mountPath(router, path, Object.fromEntries(handlers), endpointsOfPath[0]?.errorContext);
  }
}

/** Mounts the handlers of one path, by method, and the responses to HEAD, OPTIONS and other methods. */
export function mountPath(
  router: Router,
  path: string,
  handlersByMethod: Readonly<Record<string, RequestHandler>>,
  errorContext: Readonly<Record<string, unknown>> = {},
): void {
  const handlers = new Map(Object.entries(handlersByMethod));
  const get = handlers.get('GET');
  // Node does not send the body of a response to HEAD.
  if (get) handlers.set('HEAD', get);
  const allow = [...handlers.keys(), 'OPTIONS'].join(', ');
  const preflightHeaders = {
    Allow: allow,
    'Access-Control-Allow-Methods': allow,
    'Access-Control-Allow-Headers':
      'Authorization, Content-Type, DPoP, Idempotency-Key, If-Match, If-None-Match, Prefer, X-Request-Id, ' +
      'traceparent, tracestate',
    'Access-Control-Max-Age': '7200',
  };
  router.all(path.replace(/\{(\w+)\}/g, ':$1'), (request, response, next) => {
    (response.locals as RequestLocals).route = path;
    response.locals.errorContext = errorContext;
    const handler = handlers.get(request.method);
    if (handler) return handler(request, response, next);
    if (request.method === 'OPTIONS') return void response.set(preflightHeaders).status(204).end();
    throw apiError('ERR00405', { headers: { Allow: allow } });
  });
}

/** Adds the responses to other methods to a path whose GET is handled by a route that is mounted elsewhere. */
export function mountMethodNotAllowed(router: Router, path: string): void {
  mountPath(router, path, { GET: (_request, _response, next) => next() });
}

function createInputReader(endpoint: Endpoint<Caller>, compile: (schema: Schema) => Validate) {
  const { query: querySchema = noFields, body: bodySchema = noFields, bodyUse } = endpoint;
  const queryProperties = propertiesOf(querySchema);
  const knownFields = new Set([
    ...Object.keys(propertiesOf(bodySchema)),
    ...(endpoint.method === 'GET' ? [] : fieldsOfResource(endpoint.success.schema)),
  ]);
  const validateQuery = compile(querySchema);
  const validateBody = compile(bodySchema);
  const readRawBody = rawBody(endpoint.bodyLimit);
  const readBody = async (request: Request, response: Response): Promise<Readonly<Record<string, unknown>>> => {
    if (!endpoint.body) return {};
    if (bodyUse === 'as sent') return readJsonObjectAsSent(request, response, readRawBody);
    if (bodyUse !== 'optional') return readJsonObject(request, response, readRawBody);
    return readOptionalBody(request, response, readRawBody, endpoint.stringBodyField);
  };

  const noInput = { query: {}, body: {}, validationErrors: [] };

  return async (request: Request, response: Response, strict: boolean) => {
    if (!endpoint.query && !endpoint.body && !strict) return noInput;
    const queryString = queryStringOf(request.url);
    const queryInput = readQueryString(queryString, queryProperties);
    const query = validateQuery(queryInput);
    const queryErrors = errorsOfParameters(query.validationErrors);
    const bodyInput = await readBody(request, response);
    const body =
      bodyUse === 'as sent'
        ? { value: bodyInput, validationErrors: [] }
        : validateBody(withoutFieldsOfQuery(bodyInput, queryInput));
    const unknownErrors = strict
      ? [
          ...findUnknownFields(findUnknownParameters(queryString, queryProperties), new Set()),
          ...findUnknownFields(Object.keys(bodyInput), knownFields),
        ]
      : [];
    const validationErrors = [...queryErrors, ...body.validationErrors, ...unknownErrors];
    return { query: query.value, body: body.value, validationErrors };
  };
}

function createHandler(
  endpoint: Endpoint<Caller>,
  compile: (schema: Schema) => Validate,
  { authorize, checkScope, checkStepUp, onCaller, rateLimit }: RouterOptions,
) {
  const readInput = createInputReader(endpoint, compile);
  return async (request: Request, response: Response): Promise<void> => {
    const locals = response.locals as RequestLocals & { errorContext?: Endpoint['errorContext'] };
    const caller = await authorize(request as AuthorizedRequest);
    locals.clientId = caller.clientId;
    locals.subject = caller.subject;
    checkScope(caller, endpoint.access);
    checkStepUp?.(caller, endpoint);
    onCaller?.(caller);
    if (rateLimit) {
      const headers = await rateLimit(caller);
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    }
    if (!acceptsJson(request)) throw apiError('ERR00406');
    const strict = isStrict(request.get('prefer'));
    const params = request.params as Record<string, string>;
    const input = await readInput(request, response, strict).catch(async (error: unknown) => {
      if (endpoint.findErrorContext) locals.errorContext = await endpoint.findErrorContext({ params, caller });
      throw error;
    });
    // The response to validation errors has this header too.
    if (strict) response.setHeader('Preference-Applied', strictHandling);
    const { validationErrors } = input;
    if (validationErrors.length > 0 && !endpoint.handlesValidationErrors)
      throw badRequest(problemsOf(validationErrors, endpoint.errorContext));
    const endpointRequest: EndpointRequest<unknown, unknown, Caller> = {
      params,
      ...input,
      header: (name) => request.get(name),
      caller,
      requestId: locals.requestId,
    };
    // The list of endpoints lacks the types of query and body, which `readInput` has validated.
    const result = await endpoint.handle(endpointRequest as EndpointRequest<never, never, Caller>);
    sendResponse(request, response, strict ? withStrictHandling(result) : result);
  };
}

/** The header of the endpoint would replace the header of the router. */
function withStrictHandling(result: EndpointResponse): EndpointResponse {
  const applied = result.headers?.['Preference-Applied'];
  if (applied === undefined) return result;
  return { ...result, headers: { ...result.headers, 'Preference-Applied': `${strictHandling}, ${applied}` } };
}

/** The query takes precedence over the body. */
function withoutFieldsOfQuery(
  body: Readonly<Record<string, unknown>>,
  query: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !Object.hasOwn(query, name)));
}

/** Several elements of a parameter can be invalid. Their positions mean nothing to the client. */
function errorsOfParameters(errors: readonly ValidationError[]): readonly ValidationError[] {
  const firstOf = [...Map.groupBy(errors, ({ field }) => field).values()].flatMap((ofField) => ofField.slice(0, 1));
  return firstOf.map(({ field, kind, hint }) => ({ field, kind, hint }));
}

/** A client may send back the resource that GET returned. Other responses have no links. */
function fieldsOfResource({ properties = {}, anyOf = [] }: Schema = {}): readonly string[] {
  const own = Object.keys(properties as object);
  return [...(own.includes('_links') ? own : []), ...(anyOf as readonly Schema[]).flatMap(fieldsOfResource)];
}

function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return (schema.properties as Record<string, Schema> | undefined) ?? {};
}

function queryStringOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
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
