// Serves plain token requests of personal access tokens without oidc-provider. This takes half of the CPU time that the
// library needs (docs/decisions/0009).
//
// A plain request is a small form that contains only the grant type, the scope and the credentials of a personal access
// token. Nearly all requests to the token endpoint are plain. This file decides whether a request is plain, and checks
// the secret. grants/client-credentials.ts issues the token.
//
// The library handles all other requests and all requests that must be rejected, so this file never sends an error.
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import type { RequestHandler } from 'express';
import { errors, type Provider } from 'oidc-provider';
import type { RateLimit } from '../../http/rate-limit.ts';
import { countTokenRequest } from '../clients/policy.ts';
import { ownMetadataOf } from '../clients/registered-client.ts';
import type { ClientCredentials } from '../grants/client-credentials.ts';
// Silences the warning of oidc-provider that the body of a request has already been read.
import '../library-warnings.ts';

export interface PlainTokenRequestOptions {
  readonly path: string;
  /** Returns undefined until the signing keys have been loaded. */
  readonly provider: () => Provider | undefined;
  readonly bookingsScope: string;
  readonly limit: RateLimit;
  readonly issue: ClientCredentials['issue'];
}

export function servePlainTokenRequests(options: PlainTokenRequestOptions): RequestHandler {
  const { path, bookingsScope, limit, issue } = options;

  /** Returns the body of the response. Returns undefined if oidc-provider must handle the request. */
  const issueToken = async (authorization: string | undefined, body: string, address: string) => {
    const provider = options.provider();
    const credentials = provider && plainCredentials(authorization, body, bookingsScope);
    const client = credentials && (await provider.Client.find(credentials.id));
    if (!client || ownMetadataOf(client).kind !== 'personal-access-token') return undefined;
    if (!(await client.compareClientSecret(credentials.secret))) return undefined;
    const waitSeconds = countTokenRequest(limit, client, address);
    if (waitSeconds > 0) return undefined;
    // An empty list selects all facilities of the account.
    const issued = issue(provider, { client, scope: bookingsScope, facilities: [], address });
    // If `issue` throws an OAuth error, oidc-provider handles the request again and responds with the error. The rate
    // limit then counts the request twice, so a client that sends wrong requests reaches its limit sooner.
    return issued.catch((error: unknown) => {
      if (error instanceof errors.OIDCProviderError) return undefined;
      throw error;
    });
  };

  const serve: RequestHandler = async (request, response, next) => {
    // If this function calls `next`, oidc-provider handles the request. It then uses `request.body` instead of reading
    // the body again.
    request.body = await readBody(request);
    // The route is a label of the metrics and of the access log.
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

/** Matches the content type of an HTML form, with or without the charset UTF-8. */
const formType = /^application\/x-www-form-urlencoded(; ?charset=utf-8)?$/i;
/** The maximum length of the body of a plain request, in bytes. */
const maxBody = 2_048;
/** Headers that can change how oidc-provider handles a request. A plain request has none of them. */
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

/**
 * Reads the body. The caller has checked that the header `Content-Length` is not too large, and Node.js reads no more
 * bytes than this header says.
 */
function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.once('end', () => resolve(body));
    // If the client disconnects before the end of the body, `end` does not occur. The body is then treated as
    // empty. This does not matter, because nobody reads the response.
    request.once('close', () => resolve(''));
  });
}

/**
 * Matches text that contains only characters that URL encoding does not change. In a Basic header, the id and the
 * secret are URL-encoded (RFC 6749 section 2.3.1). An id and a secret that match need no decoding.
 */
const unencoded = /^[A-Za-z0-9._~-]{1,256}$/;
/**
 * Matches an Authorization header with the scheme Basic, and captures the encoded credentials. 700 characters are
 * enough for the base64 encoding of an id and a secret with 256 characters each.
 */
const basicCredentials = /^Basic ([A-Za-z0-9+/]{1,700}={0,2})$/i;
const parametersWithHeader: ReadonlySet<string> = new Set(['grant_type', 'scope']);
const parametersWithoutHeader: ReadonlySet<string> = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);

/** Returns the id and the secret of a Basic header, or an empty list if the header is malformed. */
function readBasicCredentials(authorization: string): readonly string[] {
  const [, encoded = ''] = basicCredentials.exec(authorization) ?? [];
  const pair = Buffer.from(encoded, 'base64').toString('latin1').split(':');
  return pair.length === 2 ? pair : [];
}

/** Returns the credentials of a plain request, or undefined if the request is not plain. */
function plainCredentials(
  authorization: string | undefined,
  body: string,
  bookingsScope: string,
): { readonly id: string; readonly secret: string } | undefined {
  // This quick check saves time: a form of another grant type is not parsed here, but only by oidc-provider.
  if (!body.includes('grant_type=client_credentials')) return undefined;
  const form = parse(body);
  // The value of a repeated parameter is an array. It is not equal to a string, so the request is not plain.
  if (form.grant_type !== 'client_credentials' || form.scope !== bookingsScope) return undefined;
  const allowed = authorization === undefined ? parametersWithoutHeader : parametersWithHeader;
  for (const name of Object.keys(form)) if (!allowed.has(name)) return undefined;
  const [id, secret] =
    authorization === undefined ? [form.client_id, form.client_secret] : readBasicCredentials(authorization);
  if (typeof id !== 'string' || typeof secret !== 'string') return undefined;
  return unencoded.test(id) && unencoded.test(secret) ? { id, secret } : undefined;
}
