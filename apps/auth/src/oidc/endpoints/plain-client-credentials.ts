// Serves plain token requests of personal access tokens without the pipeline of oidc-provider (docs/decisions/0009).
//
// Nearly every request to the token endpoint is one: a small form with the grant type, the scope and the credentials of
// a personal access token, and nothing else. Serving it here takes about half the CPU time. This file decides whether
// the request is plain and checks the secret; grants/client-credentials.ts issues the token. Every other request goes
// to the library, and so does every request that must be refused. So this file never writes an error.
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import type { RequestHandler } from 'express';
import { errors, type Provider } from 'oidc-provider';
import type { RateLimit } from '../../http/rate-limit.ts';
import { countTokenRequest } from '../client-policy.ts';
import type { ClientCredentials } from '../grants/client-credentials.ts';
import { ownMetadataOf } from '../registered-client.ts';
import '../library-warnings.ts';

export interface PlainTokenRequestOptions {
  readonly path: string;
  /** Returns undefined until the signing keys are loaded. */
  readonly provider: () => Provider | undefined;
  readonly bookingsScope: string;
  readonly limit: RateLimit;
  readonly issue: ClientCredentials['issue'];
}

export function servePlainTokenRequests(options: PlainTokenRequestOptions): RequestHandler {
  const { path, bookingsScope, limit, issue } = options;

  const issueToken = async (authorization: string | undefined, body: string, address: string) => {
    const provider = options.provider();
    const credentials = provider && plainCredentials(authorization, body, bookingsScope);
    const client = credentials && (await provider.Client.find(credentials.id));
    if (!client || ownMetadataOf(client).kind !== 'personal-access-token') return undefined;
    if (!(await client.compareClientSecret(credentials.secret))) return undefined;
    if (countTokenRequest(limit, client, address) > 0) return undefined;
    // The library then counts the refused request again, which does not matter: it is refused in any case.
    return issue(provider, { client, scope: bookingsScope, facilities: [], address }).catch((error: unknown) => {
      if (error instanceof errors.OIDCProviderError) return undefined;
      throw error;
    });
  };

  const serve: RequestHandler = async (request, response, next) => {
    // The library takes the body from here too, if the request turns out not to be plain.
    request.body = await readBody(request);
    response.locals.route = path;
    response.setHeader('Cache-Control', 'no-store');
    const token = await issueToken(request.headers.authorization, request.body, request.ip ?? '');
    if (!token) return next();
    const body = JSON.stringify(token);
    response.writeHead(200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  };

  return (request, response, next) =>
    request.method === 'POST' && request.url === path && hasPlainHeaders(request)
      ? serve(request, response, next)
      : next();
}

const formType = /^application\/x-www-form-urlencoded(; ?charset=utf-8)?$/i;
/** Bytes. */
const maxBody = 2_048;
/** The library gives these headers a meaning, or refuses the request because of them. */
const specialHeaders = ['origin', 'dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop'] as const;

function hasPlainHeaders({ headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length']);
  return (
    formType.test(headers['content-type'] ?? '') &&
    length > 0 &&
    length <= maxBody &&
    headers['content-encoding'] === undefined &&
    specialHeaders.every((name) => headers[name] === undefined)
  );
}

/** The body has at most `maxBody` bytes, because Node.js reads no more than `Content-Length` announces. */
function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.once('end', () => resolve(body));
    // The client disconnected before the end of the body. Nobody reads the response.
    request.once('close', () => resolve(''));
  });
}

/** Characters that no encoding changes, so that every decoder reads the same value. */
const unencoded = /^[A-Za-z0-9._~-]{1,256}$/;
const basicCredentials = /^Basic ([A-Za-z0-9+/]{1,700}={0,2})$/i;
const parametersWithHeader: ReadonlySet<string> = new Set(['grant_type', 'scope']);
const parametersWithoutHeader: ReadonlySet<string> = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);

/** The credentials of a plain request; undefined if the request is not plain. */
function plainCredentials(
  authorization: string | undefined,
  body: string,
  bookingsScope: string,
): { readonly id: string; readonly secret: string } | undefined {
  // Avoids parsing the forms of other grants, which the library parses again.
  if (!body.includes('grant_type=client_credentials')) return undefined;
  const form = parse(body);
  // A parameter that is sent twice is an array here, so it equals no string.
  if (form.grant_type !== 'client_credentials' || form.scope !== bookingsScope) return undefined;
  const allowed = authorization === undefined ? parametersWithoutHeader : parametersWithHeader;
  for (const name of Object.keys(form)) if (!allowed.has(name)) return undefined;
  let { client_id: id, client_secret: secret } = form;
  if (authorization !== undefined) {
    const [, encoded = ''] = basicCredentials.exec(authorization) ?? [];
    const pair = Buffer.from(encoded, 'base64').toString('latin1').split(':');
    if (pair.length !== 2) return undefined;
    [id, secret] = pair;
  }
  if (typeof id !== 'string' || typeof secret !== 'string') return undefined;
  return unencoded.test(id) && unencoded.test(secret) ? { id, secret } : undefined;
}
