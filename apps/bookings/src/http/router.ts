// How does a request reach its endpoint? authorize → limit → negotiate → validate → handle → send, the same for all of them, with 405,
// OPTIONS and HEAD per path. Contract section 7.

import type { Endpoint, EndpointRequest, EndpointResponse, Schema } from '@bay-booking/common/endpoint';
import { ApiError } from '@bay-booking/common/errors';
import { readQueryString } from '@bay-booking/common/query-string';
import { createValidator, type Validate, type Validated } from '@bay-booking/common/validation';
import { isUnavailable } from '@bay-booking/service/database/database';
import type { RequestLocals } from '@bay-booking/service/http/app';
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express';
import type { Authorize } from '../auth/access-token.ts';
import type { Caller } from '../auth/caller.ts';
import { dateTimeHint, isDateTime } from '../bookings/date-times.ts';
import { apiError, badRequest, problemsOf, unavailable } from '../errors.ts';
import type { Limit } from './rate-limit.ts';
import { hasBody, isJson, readJsonObject } from './request-body.ts';
import { sendError, sendNothing, sendResponse } from './response.ts';

export interface RouteOptions {
  readonly authorize: Authorize;
  readonly limit: Limit | undefined;
}

export const validator = createValidator({
  'date-time': { test: isDateTime, hint: dateTimeHint },
  uri: { test: URL.canParse, hint: 'must be an absolute URL' },
});

export function mountEndpoints(app: Express, endpoints: readonly Endpoint<Caller>[], options: RouteOptions): void {
  for (const [path, ofPath] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const handlers = new Map(ofPath.map((endpoint) => [endpoint.method as string, handlerOf(endpoint, options)]));
    const reading = handlers.get('GET');
    if (reading) handlers.set('HEAD', reading);
    mountPath(app, path, handlers, ofPath[0]?.errorContext);
  }
}

/** One path with its methods; everything else there is 405, and OPTIONS tells what is allowed. */
export function mountPath(
  app: Express,
  path: string,
  handlers: ReadonlyMap<string, RequestHandler>,
  context: Readonly<Record<string, unknown>> = {},
): void {
  const allow = [...handlers.keys(), 'OPTIONS'].join(', ');
  const preflight = {
    Allow: allow,
    'Access-Control-Allow-Methods': allow,
    'Access-Control-Allow-Headers':
      'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id, traceparent, tracestate',
    'Access-Control-Max-Age': '7200',
  };
  app.all(path.replace(/\{(\w+)\}/g, ':$1'), (request, response, next) => {
    (response.locals as RequestLocals).route = path;
    response.locals.context = context;
    const handler = handlers.get(request.method);
    if (handler) return handler(request, response, next);
    if (request.method === 'OPTIONS') return sendNothing(response, 204, preflight);
    throw apiError('ERR00405', { headers: { Allow: allow } });
  });
}

function handlerOf(endpoint: Endpoint<Caller>, { authorize, limit }: RouteOptions) {
  const queryProperties = propertiesOf(endpoint.query);
  const bodyProperties = propertiesOf(endpoint.body);
  const validateQuery = endpoint.query ? validator(endpoint.query) : undefined;
  const validateBody = endpoint.body ? validator(endpoint.body) : undefined;
  const optional = endpoint.bodyUse === 'optional';
  // `endDate` of a search may come in either place.
  const lacking = (query: Readonly<Record<string, unknown>>): boolean =>
    Object.keys(bodyProperties).some((name) => query[name] === undefined);

  return async (request: Request, response: Response): Promise<void> => {
    const known = authorize(request.headers.authorization);
    const caller = known instanceof Promise ? await known : known;
    if (limit)
      for (const [name, value] of Object.entries(await limit(caller.clientId))) response.setHeader(name, value);
    if (!acceptsJson(request)) throw apiError('ERR00406');
    const rawQuery = validateQuery ? readQueryString(searchOf(request.url), queryProperties) : {};
    const query = validated(validateQuery, rawQuery);
    const reads = validateBody && (!optional || (hasBody(request) && isJson(request) && lacking(rawQuery)));
    const rawBody = reads ? await readJsonObject(request, response, { optional }) : {};
    const body = validated(reads ? validateBody : undefined, rawBody);
    const validationErrors = [...query.validationErrors, ...body.validationErrors];
    if (validationErrors.length > 0 && !endpoint.reportsValidationErrors)
      throw badRequest(problemsOf(validationErrors, endpoint.errorContext));
    const input: EndpointRequest<unknown, unknown, Caller> = {
      params: request.params as Record<string, string>,
      query: query.value,
      body: body.value,
      validationErrors,
      header: (name) => request.get(name),
      caller,
    };
    const answer: EndpointResponse = await endpoint.handle(input as EndpointRequest<never, never, Caller>);
    sendResponse(request, response, answer);
  };
}

const noInput: Validated = { value: {}, validationErrors: [] };

function validated(validate: Validate | undefined, input: Readonly<Record<string, unknown>>): Validated {
  return validate ? validate(input) : noInput;
}

function propertiesOf(schema: Schema | undefined): Readonly<Record<string, Schema>> {
  return (schema?.properties as Record<string, Schema> | undefined) ?? {};
}

function searchOf(url: string): string {
  const at = url.indexOf('?');
  return at === -1 ? '' : url.slice(at + 1);
}

function acceptsJson(request: Request): boolean {
  const { accept } = request.headers;
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return true;
  return request.accepts(['application/json', 'application/json; charset=utf-8']) !== false;
}

/** What no path took, and what any handler threw: always the one envelope, never an inner detail. */
export function mountErrorHandling(app: Express): void {
  app.use(() => {
    throw apiError('ERR00404');
  });
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    const { logger, context } = response.locals as RequestLocals & { context?: Record<string, unknown> };
    const refusal = refusalOf(error);
    response.locals.codes = refusal.problems.map(({ code }) => code);
    if (refusal.status >= 500) logger.error({ err: error }, refusal.problems[0]?.code);
    sendError(response, refusal, context);
  });
}

function refusalOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isUnavailable(error)) return unavailable(error);
  return apiError('ERR00500', { cause: error });
}
