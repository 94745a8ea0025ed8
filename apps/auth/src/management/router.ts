// Routes the requests of the management API: authorize, read the query and the body, handle, send.
import type { Endpoint, Schema } from '@bay-booking/common/endpoint';
import { ApiError } from '@bay-booking/common/errors';
import { ImportError } from '@bay-booking/common/import-document';
import { readQueryString } from '@bay-booking/common/query-string';
import { createValidator } from '@bay-booking/common/validation';
import { isUnavailable } from '@bay-booking/service/database/database';
import type { RequestLocals } from '@bay-booking/service/http/app';
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { retryAfter } from '../http/unavailable.ts';
import type { Authorize, Caller } from './authorize.ts';
import { apiError, importError, problemOfImport } from './problems.ts';

const noFields: Schema = { type: 'object' };
const defaultBodyLimit = 100_000;
const jsonType = /^[\w.+-]+\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;
/** `curl -d` sends JSON with this type. */
const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

export function managementRouter(
  endpoints: readonly Endpoint<Caller>[],
  authorize: Authorize,
  document: object,
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const compile = createValidator({});
  router.use('/management', (_request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    next();
  });
  router.get('/management/openapi.json', (_request, response) => void response.json(document));
  for (const [path, ofPath] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const handlers = new Map(
      ofPath.map((endpoint) => [endpoint.method as string, createHandler(endpoint, compile, authorize)]),
    );
    const get = handlers.get('GET');
    if (get) handlers.set('HEAD', get);
    router.all(path.replace(/\{(\w+)\}/g, ':$1'), (request, response, next) => {
      (response.locals as RequestLocals).route = path;
      const handler = handlers.get(request.method);
      if (!handler) throw apiError('ERR00405', { headers: { Allow: [...handlers.keys()].join(', ') } });
      return handler(request, response, next);
    });
  }
  router.use('/management', (_request, response) => {
    (response.locals as RequestLocals).route = '/management/{unknown}';
    throw apiError('ERR00404');
  });
  router.use('/management', sendError);
  return router;
}

function createHandler(
  endpoint: Endpoint<Caller>,
  compile: ReturnType<typeof createValidator>,
  authorize: Authorize,
): RequestHandler {
  const { query: querySchema = noFields } = endpoint;
  const properties = (querySchema.properties ?? {}) as Readonly<Record<string, Schema>>;
  const validateQuery = compile(querySchema);
  const limit = endpoint.bodyLimit ?? defaultBodyLimit;
  // Express reads an empty body as {}, which would reset a record.
  const verify = (_request: unknown, _response: unknown, bytes: Buffer): void => {
    if (bytes.length === 0 && endpoint.bodyUse !== 'optional') throw new Error('the body is empty');
  };
  const parse = express.json({ limit, strict: false, type: () => true, verify });

  return async (request, response) => {
    const locals = response.locals as RequestLocals;
    const caller = await authorize(request);
    locals.clientId = caller.clientId;
    const queryString = new URL(request.originalUrl, 'http://localhost').search.slice(1);
    const { value: query, validationErrors } = validateQuery(readQueryString(queryString, properties));
    if (validationErrors.length > 0) {
      throw importError(validationErrors.map(({ field, hint }) => `/${field}: ${hint || 'is not valid'}`));
    }
    const body = endpoint.body ? await readBody(request, response, parse, endpoint) : {};
    const result = await endpoint.handle({
      params: request.params as Record<string, string>,
      query: query as never,
      body: body as never,
      validationErrors: [],
      header: (name) => request.get(name),
      caller,
      requestId: locals.requestId,
    });
    response.set(result.headers ?? {}).status(result.status);
    if (result.body === undefined) response.end();
    else response.json(result.body);
  };
}

async function readBody(
  request: Request,
  response: Response,
  parse: RequestHandler,
  { bodyUse }: Endpoint<Caller>,
): Promise<object> {
  const { 'content-type': type = 'application/json' } = request.headers;
  if (!jsonType.test(type) && !formType.test(type)) throw apiError('ERR00415');
  await new Promise<void>((resolve, reject) => {
    parse(request, response, (error?: unknown) => (error ? reject(bodyError(error)) : resolve()));
  });
  const body: unknown = request.body ?? (bodyUse === 'optional' ? {} : undefined);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw apiError('ERR00003');
  return body;
}

/** Converts an error of body-parser. */
function bodyError(error: unknown): unknown {
  const { type } = error as { type?: string };
  if (type === 'entity.too.large') return apiError('ERR00413');
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') return apiError('ERR00415');
  return type === undefined ? error : apiError('ERR00003');
}

const sendError: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
  const { status, problems, headers } = apiErrorOf(error);
  const locals = response.locals as RequestLocals;
  locals.codes = problems.map(({ code }) => code);
  if (status >= 500) locals.logger.error({ err: error }, problems[0]?.code);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.set(headers).status(status).json({ errors: problems });
};

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ImportError) return importError(error.errors);
  const { status } = error as { status?: number };
  if (isUnavailable(error) || status === 503) return apiError('ERR00503', { headers: { 'Retry-After': retryAfter } });
  // Express cannot decode the path.
  return status === 400 ? apiError('ERR00404') : apiError('ERR00500');
}

/** For an error of a field of the body. */
export const fieldError = (field: string, message: string): ApiError =>
  new ApiError(400, [problemOfImport(`/${field}: ${message}`)]);
