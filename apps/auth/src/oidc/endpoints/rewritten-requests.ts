// Reads the forms that clients send to the protocol endpoints and rewrites them for oidc-provider.
import querystring from 'node:querystring';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { pageHeaders } from '../../html/response-headers.ts';
import {
  findParameterError,
  findQueryError,
  type RejectRequest,
  splitUrl,
  withoutEmptyParameters,
} from '../../http/corrected-request.ts';
import { rewriteAuthorizationQuery } from '../authorization/requests.ts';
import type { ProviderPages } from '../pages.ts';
import { formPaths, isMachinePath, machinePaths, routes, routeTemplate } from '../paths.ts';

/** Responds with JSON to a program, and with a page to a browser. */
export const createRejectRequest =
  (pages: Pick<ProviderPages, 'error'>): RejectRequest =>
  async (request, response, { status, description }) => {
    const error = 'invalid_request';
    response.locals.route = routeTemplate(request.path);
    response.status(status).set('Cache-Control', 'no-store');
    if (isMachinePath(request.path)) return response.json({ error, error_description: description });
    return response.set(pageHeaders()).send(await pages.error({ status, error, description }, request, response));
  };

/** In bytes. Anybody can send a request that is stored or that becomes a query, so it must be shorter. */
const maxStoredBody = 16_384;
const maxBody = 57_344;

/** oidc-provider takes `request.body`. Its own parser ignores parameters above 1000, and a body without a type. */
export function readForms(reject: RejectRequest): RequestHandler {
  const redirect = redirectToGet(reject);
  const handlers = new Map<string, RequestHandler>([
    [routes.authorization, redirect],
    [routes.end_session, redirect],
    [routes.pushed_authorization_request, rewriteBody],
    [routes.device_authorization, rewriteBody],
  ]);
  const readText = createTextReader(maxBody);
  const readStoredText = createTextReader(maxStoredBody);

  return (request, response, next) => {
    const { method, path } = request;
    if (method !== 'POST' || !formPaths.has(path)) return next();
    const handle = handlers.get(path);
    const read = handle === undefined ? readText : readStoredText;
    if (hasBody(request) && !request.is(formType)) {
      const description = `the Content-Type of the body must be ${formType}`;
      return reject(request, response, { status: 400, description });
    }
    // In these charsets, the letters of parameters are other bytes than in ASCII.
    if (/;\s*charset\s*=\s*"?utf-?(?:7|16|32)/i.test(request.headers['content-type'] ?? '')) {
      const description = 'the charset of the body must be UTF-8';
      return reject(request, response, { status: 400, description });
    }
    return read(request, response, (error?: unknown) => {
      if (error) {
        const rejected = describe(error as BodyError, handle === undefined ? 400 : 413);
        return rejected ? reject(request, response, rejected) : next(error);
      }
      const text = typeof request.body === 'string' ? request.body : '';
      const description = findParameterError(text);
      if (description !== undefined) return reject(request, response, { status: 400, description });
      const form = withoutEmptyParameters(text);
      // oidc-provider would write a parsed body as text and parse it again.
      const isForLibrary = handle === undefined && machinePaths.has(path);
      request.body = isForLibrary ? form : querystring.parse(form, '&', '=', { maxKeys: 0 });
      return handle ? handle(request, response, next) : next();
    });
  };
}

const formType = 'application/x-www-form-urlencoded';
const createTextReader = (limit: number) => express.text({ type: () => true, limit, inflate: false });

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** An error of body-parser. */
interface BodyError {
  readonly status?: number;
  readonly type?: string;
}

/** RFC 9126 section 2.3 has the status 413. RFC 6749 section 5.2 has only 400. */
function describe({ status = 500, type = '' }: BodyError, tooLarge: 400 | 413) {
  if (type === 'entity.too.large') return { status: tooLarge, description: 'the body is too long' };
  if (type === 'encoding.unsupported') return { status: 400, description: 'the body must not have a Content-Encoding' };
  if (type === 'charset.unsupported') return { status: 400, description: 'the charset of the body must be UTF-8' };
  return type !== '' && status < 500 ? { status: 400, description: 'the body cannot be read' } : undefined;
}

/**
 * Redirects POST requests for authorization and end-session to GET (OpenID Connect Core section 3.1.2.1). For POST from
 * the site of a client, oidc-provider would need cookies with `SameSite=None`.
 */
const redirectToGet =
  (reject: RejectRequest): RequestHandler =>
  (request: Request, response: Response) => {
    const parts = [querystring.stringify(request.body), splitUrl(request.url).query];
    const query = parts.filter((part) => part !== '').join('&');
    const description = findQueryError(query);
    if (description !== undefined) return void reject(request, response, { status: 400, description });
    response.setHeader('Cache-Control', 'no-store');
    response.redirect(303, `${request.path}?${query}`);
  };

/** Pushed (RFC 9126) and device authorization requests (RFC 8628) are like those of the authorization endpoint. */
const rewriteBody: RequestHandler = (request, _response, next) => {
  request.body = rewriteAuthorizationQuery(request.body);
  next();
};
