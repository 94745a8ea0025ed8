// Two social providers to sign in with where there are none: `google` speaks OpenID Connect, `facebook` OAuth 2 in its own words
// (contract section 4, last paragraph). For tests and for the demo, on one port; nothing here is secret.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { playFacebook } from './social-facebook.ts';
import { playGoogle } from './social-google.ts';
import { createSocialGrants, type SocialGrants } from './social-grants.ts';
import { signInPage } from './social-sign-in-page.ts';

export interface SocialRequest {
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly bearer: string | undefined;
}

export interface Answer {
  readonly status?: number;
  readonly json?: unknown;
  readonly html?: string;
  readonly location?: string;
}

export type SocialName = 'google' | 'facebook';

export interface SocialProviders {
  readonly origin: string;
  /** What SOCIAL_PROVIDERS_FILE holds. */
  readonly settings: Readonly<Record<SocialName, Record<string, unknown>>>;
  /** A token as a native app would get it; `clientId` is by default one that the settings accept. */
  readonly nativeToken: (
    name: SocialName,
    personId: string,
    options?: { clientId?: string; lifetime?: number },
  ) => string;
  /** `silent`: every request of that provider is left without an answer; `away`: it is answered with 503. */
  readonly trouble: Record<SocialName, 'none' | 'silent' | 'away'>;
  readonly stop: () => Promise<void>;
}

const clientId = 'bay-booking';
const clientSecret = 'stand-in-secret';
export const nativeClientId = 'bay-booking-native';

type Routes = Record<string, (request: SocialRequest) => Answer | Promise<Answer>>;

export async function startSocialProviders({ port = 0 }: { port?: number } = {}): Promise<SocialProviders> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const grants = { google: createSocialGrants(), facebook: createSocialGrants() };
  const issuer = `${origin}/google`;
  const routes: Record<SocialName, Routes> = {
    google: {
      ...authorize('Google', grants.google, issuer),
      ...(await playGoogle({ issuer, clientId, clientSecret, grants: grants.google })),
    },
    facebook: {
      ...authorize('Facebook', grants.facebook),
      ...playFacebook({ clientId, clientSecret, grants: grants.facebook }),
    },
  };
  const trouble: SocialProviders['trouble'] = { google: 'none', facebook: 'none' };

  server.on('request', (request, response) => {
    const url = new URL(request.url ?? '/', origin);
    const [, name, path] = /^\/(google|facebook)(\/.*)$/.exec(url.pathname) ?? [];
    if (!name) return send(response, { status: 404, json: { error: 'not_found' } });
    const social = name as SocialName;
    if (trouble[social] === 'silent') return;
    if (trouble[social] === 'away') return send(response, { status: 503, json: { error: 'unavailable' } });
    const handler = routes[social][`${request.method} ${path}`];
    if (!handler) return send(response, { status: 404, json: { error: 'not_found' } });
    readForm(request)
      .then((form) =>
        handler({
          query: url.searchParams,
          form,
          headers: request.headers,
          bearer: /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1],
        }),
      )
      .then((answer) => send(response, answer))
      .catch((error: Error) => send(response, { status: 500, json: { error: error.message } }));
  });

  return {
    origin,
    trouble,
    settings: {
      google: { type: 'oidc', issuer, clientId, clientSecret, nativeAudiences: [nativeClientId] },
      facebook: {
        type: 'oauth2',
        authorizationEndpoint: `${origin}/facebook/authorize`,
        tokenEndpoint: `${origin}/facebook/token`,
        userinfoEndpoint: `${origin}/facebook/me`,
        tokenInfoEndpoint: `${origin}/facebook/debug_token`,
        clientId,
        clientSecret,
        scope: 'email public_profile',
        nativeAudiences: [nativeClientId],
        claims: { sub: 'id', name: 'name', email: 'email' },
      },
    },
    nativeToken: (name, personId, options = {}) => {
      const person = grants[name].person(personId);
      if (!person) throw new Error(`nobody is ${personId}`);
      return grants[name].issueToken(person, options.clientId ?? nativeClientId, options.lifetime);
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The page that asks who somebody is, and its answer; and, for the demo, a token such as a native app would get. */
function authorize(title: string, grants: SocialGrants, issuer?: string): Routes {
  return {
    'GET /authorize': ({ query }) =>
      query.get('client_id') === clientId && URL.canParse(query.get('redirect_uri') ?? '')
        ? { html: signInPage(title, `?${query}`) }
        : { status: 400, json: { error: 'invalid_request' } },
    'POST /authorize': ({ query, form }) => {
      const back = new URL(query.get('redirect_uri') ?? '');
      const person = grants.person(form.get('user') ?? '');
      const answer = person
        ? {
            code: grants.issueCode({
              person,
              clientId: query.get('client_id') ?? '',
              redirectUri: query.get('redirect_uri') ?? '',
              challenge: query.get('code_challenge') ?? undefined,
              nonce: query.get('nonce') ?? undefined,
            }),
          }
        : { error: 'access_denied', error_description: 'the person said no' };
      for (const [name, value] of Object.entries(answer)) back.searchParams.set(name, value);
      back.searchParams.set('state', query.get('state') ?? '');
      if (issuer) back.searchParams.set('iss', issuer);
      return { status: 303, location: back.href };
    },
    'GET /native-token': ({ query }) => {
      const person = grants.person(query.get('user') ?? '100001');
      return person
        ? { json: { access_token: grants.issueToken(person, nativeClientId), token_type: 'Bearer', expires_in: 3600 } }
        : { status: 404, json: { error: 'not_found' } };
    },
  };
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = '';
  for await (const chunk of request) {
    body += chunk;
    if (body.length > 65_536) throw new Error('too long');
  }
  return new URLSearchParams(body);
}

function send(response: ServerResponse, { status = 200, json, html, location }: Answer): void {
  response.writeHead(status, {
    'Content-Type': html === undefined ? 'application/json' : 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    ...(location !== undefined && { Location: location }),
  });
  response.end(html ?? (json === undefined ? undefined : JSON.stringify(json)));
}
