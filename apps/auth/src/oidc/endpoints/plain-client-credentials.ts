// How does a machine get its token at once? Nearly every request to the token endpoint is a personal access token that asks for the one
// scope it can have (specification, "Bookings API access"). One that says just that is answered here, with the library's own client
// and token. Whatever is unusual, or wrong, goes on to the library's endpoint, which judges and counts it from the beginning.
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import type { RequestHandler } from 'express';
import type { Provider } from 'oidc-provider';
import type { Audit } from '../../audit/audit.ts';
import type { ClientStore } from '../../clients/store.ts';
import { maxFacilities } from '../access-token-claims.ts';
import { issueToMachine } from '../grants/client-credentials.ts';
import { ownMetadataOf } from '../registered-client.ts';
import type { ResourceServer } from '../resource-server.ts';

export interface PlainTokenRequestOptions {
  readonly path: string;
  /** Undefined until keys are loaded. */
  readonly provider: () => Provider | undefined;
  readonly bookings: string;
  readonly resource: ResourceServer;
  /** Seconds that a client has to wait, or 0. */
  readonly limit: (clientId: string) => number;
  readonly clients: Pick<ClientStore, 'recordUse'>;
  readonly audit: Audit;
}

export function answerPlainTokenRequests(options: PlainTokenRequestOptions): RequestHandler {
  const { path, provider: current, bookings, resource, limit, clients, audit } = options;

  const answer: RequestHandler = async (request, response, next) => {
    response.locals.route = path;
    response.setHeader('Cache-Control', 'no-store');
    const provider = current();
    const credentials = provider && readCredentials(request, await readForm(request), bookings);
    const client = credentials && (await provider.Client.find(credentials.id));
    if (!client || client.clientId !== credentials.id) return next();
    const { kind, account_id: accountId, facility_ids: facilities = [] } = ownMetadataOf(client);
    if (kind !== 'personal-access-token' || facilities.length === 0 || facilities.length > maxFacilities) return next();
    if (!(await client.compareClientSecret(credentials.secret)) || limit(client.clientId) > 0) return next();

    const body = JSON.stringify(await issueToMachine(provider, resource, client, [bookings]));
    const address = request.ip ?? '';
    audit.record({
      kind: 'token.issued',
      clientId: client.clientId,
      accountId,
      address,
      detail: { grantType: 'client_credentials', scope: bookings },
    });
    clients.recordUse(client.clientId, address);
    response.writeHead(200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  };

  return (request, response, next) =>
    request.method === 'POST' && request.url === path && isPlain(request) ? answer(request, response, next) : next();
}

const formType = /^application\/x-www-form-urlencoded(; ?charset=utf-8)?$/i;
const bodyAtMost = 2_048;
/** Each has a meaning, if only that of a fault, that is the library's to know. */
const unusualHeaders = ['origin', 'dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop'] as const;

function isPlain({ headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length']);
  return (
    formType.test(headers['content-type'] ?? '') &&
    length > 0 &&
    length <= bodyAtMost &&
    headers['content-encoding'] === undefined &&
    unusualHeaders.every((name) => headers[name] === undefined)
  );
}

type Form = Readonly<Record<string, string | string[] | undefined>>;

/** Looks at the body and leaves it to be read. Undefined where it comes in pieces. */
function readForm(request: IncomingMessage): Promise<Form | undefined> {
  return new Promise((resolve) => {
    request.once('readable', () => {
      const chunk: Buffer | null = request.read();
      if (chunk === null) return resolve(undefined);
      request.unshift(chunk);
      resolve(chunk.length === Number(request.headers['content-length']) ? parse(chunk.toString('utf8')) : undefined);
    });
  });
}

/** What needs no decoding, and so has one reading only. */
const plain = /^[A-Za-z0-9._~-]{1,256}$/;
const basic = /^Basic ([A-Za-z0-9+/]{1,700}={0,2})$/i;
const inForm: ReadonlySet<string> = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);
const besideHeader: ReadonlySet<string> = new Set(['grant_type', 'scope']);

function readCredentials(
  { headers: { authorization } }: IncomingMessage,
  form: Form | undefined,
  bookings: string,
): { readonly id: string; readonly secret: string } | undefined {
  if (form?.grant_type !== 'client_credentials' || form.scope !== bookings) return undefined;
  const known = authorization === undefined ? inForm : besideHeader;
  for (const name of Object.keys(form)) if (!known.has(name)) return undefined;
  let { client_id: id, client_secret: secret } = form;
  if (authorization !== undefined) {
    const pair = Buffer.from(basic.exec(authorization)?.[1] ?? '', 'base64')
      .toString('latin1')
      .split(':');
    if (pair.length !== 2) return undefined;
    [id, secret] = pair;
  }
  if (typeof id !== 'string' || typeof secret !== 'string' || !plain.test(id) || !plain.test(secret)) return undefined;
  return { id, secret };
}
