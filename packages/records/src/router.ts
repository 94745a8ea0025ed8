// Routes the requests of a management API: authorize, read the query and the body, handle, send.

import { createHash, hash } from 'node:crypto';
import type { Endpoint, Schema } from '@bay-booking/common/endpoint';
import { ApiError } from '@bay-booking/common/errors';
import { findUnknownParameters, readQueryString } from '@bay-booking/common/query-string';
import { isStorable } from '@bay-booking/common/text';
import { atPointer } from '@bay-booking/common/validation';
import { isUnavailable } from '@bay-booking/service/database/database';
import { type RequestLocals, sendErrors } from '@bay-booking/service/http/app';
import { hasReadableType, parseJsonObject, rawBody, readBytes } from '@bay-booking/service/http/request-body';
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { type ChangeRequest, KeyReused, type ManagementResponse } from './change.ts';
import { type RecordStore, RejectedImport } from './import.ts';
import type { ManagementErrors } from './problems.ts';
import type { Caller } from './record-endpoints.ts';

export interface RouterOptions {
  /** @throws {ApiError} 401, 403 or 429 */
  readonly authorize: (request: Request, response: Response) => Promise<Caller>;
  readonly store: RecordStore;
}

/** The connection may be idle during an import, in ms. */
const longRequest = 600_000;
const prefix = /^\/management\//;
const keyPattern = /^[\x21-\x7e]{1,255}$/;

/** Only this spelling of the paths, because a proxy that blocks `/management` may let others pass. */
export function managementRouter(endpoints: readonly Endpoint<Caller>[], document: object, options: RouterOptions) {
  const { errors } = options.store;
  const router = Router({ caseSensitive: true, strict: true });
  router.use('/management', (_request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    next();
  });
  router.get('/management/openapi.json', (_request, response) => void response.json(document));
  for (const [path, ofPath] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const handlers = new Map(ofPath.map((endpoint) => [endpoint.method as string, createHandler(endpoint, options)]));
    const get = handlers.get('GET');
    if (get) handlers.set('HEAD', get);
    router.all(path.replace(/\{(\w+)\}/g, ':$1'), (request, response, next) => {
      (response.locals as RequestLocals).route = path;
      const handler = handlers.get(request.method);
      const allow = [...handlers.keys(), 'OPTIONS'].join(', ');
      if (request.method === 'OPTIONS') return void response.set('Allow', allow).status(204).end();
      if (!handler) throw errors.apiError('ERR00405', { headers: { Allow: allow } });
      return handler(request, response, next);
    });
  }
  router.use((request, response, next) => {
    if (!prefix.test(request.path)) return next();
    (response.locals as RequestLocals).route = '/management/{unknown}';
    throw errors.apiError('ERR00404');
  });
  router.use(((error: unknown, request, response, next) => {
    if (!prefix.test(request.path)) return next(error);
    return sendErrors(response, apiErrorOf(error, errors));
  }) as ErrorRequestHandler);
  return router;
}

function createHandler(endpoint: Endpoint<Caller>, options: RouterOptions): RequestHandler {
  const { authorize, store } = options;
  const { errors, reader } = store;
  const { query: querySchema = { type: 'object' }, body: bodySchema, bodyUse, bodyLimit } = endpoint;
  const properties = (querySchema.properties ?? {}) as Readonly<Record<string, Schema>>;
  const findQueryProblems = reader.compile(querySchema);
  // The handler validates a body that it gets as it was sent.
  const findBodyProblems =
    bodySchema && bodyUse !== 'as sent' && bodyUse !== 'bytes' ? reader.compile(bodySchema) : () => [];
  const readRaw = rawBody(bodyLimit);

  return async (request, response) => {
    const locals = response.locals as RequestLocals;
    const caller = await authorize(request, response);
    locals.clientId = caller.clientId;
    const queryString = new URL(request.originalUrl, 'http://localhost').search.slice(1);
    const query = readQueryString(queryString, properties);
    const problems = [
      ...findQueryProblems(query),
      ...findUnknownParameters(queryString, properties).map((name: string) =>
        atPointer(`/${name}`, 'unknown', 'is not known'),
      ),
    ];
    if (bodyUse === 'bytes') request.setTimeout(longRequest);
    if (bodySchema && !hasReadableType(request)) throw errors.apiError('ERR00415');
    const bytes = bodySchema ? await readBytes(request, response, readRaw, errors.apiError) : Buffer.alloc(0);
    const isLeftOut = !bodySchema || (bodyUse === 'optional' && bytes.length === 0);
    const body = bodyUse === 'bytes' ? bytes : isLeftOut ? {} : parseJsonObject(bytes, errors.apiError);
    problems.push(...findBodyProblems(body));
    const givenKey = request.method === 'POST' ? request.get('idempotency-key') : undefined;
    if (givenKey !== undefined && !keyPattern.test(givenKey))
      problems.push(atPointer('/Idempotency-Key', 'invalid', '1 to 255 visible ASCII characters'));
    const key = givenKey === undefined ? undefined : keyed(givenKey, request, bytes, caller);
    const dryRun = query.dryRun === true;
    const change: ChangeRequest = { clientId: caller.clientId, dryRun, key };
    const handle = async () => {
      if (problems.length > 0) throw errors.badRequest(errors.problemsOf(problems));
      const ids = Object.values(request.params).map(String);
      if (!ids.every(isStorable)) throw errors.apiError('ERR00404');
      return endpoint.handle({
        params: request.params,
        query,
        body,
        validationErrors: [],
        header: (name: string) => request.get(name),
        caller,
        requestId: locals.requestId,
        change,
      } as never);
    };
    // An import has a result of its own.
    const result = dryRun && bodyUse !== 'bytes' ? await describe(handle, endpoint, errors) : await handle();
    response.set(result.headers ?? {}).status(result.status);
    if (result.body === undefined) response.end();
    else if (Buffer.isBuffer(result.body)) response.type('json').send(result.body);
    else response.json(result.body);
  };
}

/** Says what a change would do, also if it would fail. */
async function describe(
  handle: () => Promise<ManagementResponse>,
  { method }: Endpoint<Caller>,
  errors: ManagementErrors,
): Promise<ManagementResponse> {
  try {
    const { action = method === 'DELETE' ? 'delete' : 'update' } = await handle();
    return { status: 200, body: { action, errors: [] } };
  } catch (error) {
    const { status, problems } = apiErrorOf(error, errors);
    if (status >= 500) throw error;
    return { status: 200, body: { action: 'error', errors: problems } };
  }
}

function keyed(key: string, { originalUrl }: Request, bytes: Buffer, { clientId }: Caller): ChangeRequest['key'] {
  const requestHash = createHash('sha256').update(`${originalUrl}\n`).update(bytes).digest('base64url');
  const id = hash('sha256', JSON.stringify(['management', clientId, key]), 'base64url');
  return { id, requestHash };
}

export function apiErrorOf(error: unknown, { apiError, badRequest, problemsOf }: ManagementErrors): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof RejectedImport) return badRequest(problemsOf(error.problems));
  if (error instanceof KeyReused) return apiError('ERR00422');
  const { status } = error as { status?: number };
  if (isUnavailable(error) || status === 503)
    return apiError('ERR00503', { headers: { 'Retry-After': '2' }, cause: error });
  // Express cannot decode the path.
  return status === 400 ? apiError('ERR00404') : apiError('ERR00500', { cause: error });
}
