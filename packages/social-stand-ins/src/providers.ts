// Starts two stand-ins for social providers on one port, for the demo and for tests: `google` with OpenID Connect, and
// `facebook` with OAuth 2.0.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSocialGrants, type SocialGrants } from './grants.ts';
import { createOAuth2ProviderRoutes } from './oauth2-routes.ts';
import { createOidcProviderRoutes } from './oidc-routes.ts';
import { socialSignInPage } from './sign-in-page.ts';

export interface SocialRequest {
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The access token in the Authorization header. */
  readonly bearer: string | undefined;
}

export interface SocialResponse {
  readonly status?: number;
  readonly json?: unknown;
  readonly html?: string;
  readonly location?: string;
}

/** The keys have no name of a provider: `GET /authorize` of `google` handles `GET /google/authorize`. */
export type SocialRoutes = Readonly<
  Record<string, (request: SocialRequest) => SocialResponse | Promise<SocialResponse>>
>;

export type SocialName = 'google' | 'facebook';
export type Outage = 'none' | 'no-response' | 'unavailable';

export interface SocialProviders {
  readonly origin: string;
  /** The content of a SOCIAL_PROVIDERS_FILE with which auth uses the two stand-ins. */
  readonly settings: Readonly<Record<SocialName, Record<string, unknown>>>;
  /** Issues an access token of a user to the native app `clientId`. Default: the app that `settings` accepts. */
  readonly nativeToken: (
    name: SocialName,
    userId: string,
    options?: { clientId?: string; lifetimeSeconds?: number },
  ) => string;
  /** Tests set these values. `no-response`: the stand-in never responds. `unavailable`: it responds with 503. */
  readonly outages: Record<SocialName, Outage>;
  readonly stop: () => Promise<void>;
}

const clientId = 'bay-booking';
const clientSecret = 'stand-in-secret';
const nativeClientId = 'bay-booking-native';

export async function startSocialProviders({ port = 0 }: { port?: number } = {}): Promise<SocialProviders> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const grants = { google: createSocialGrants(), facebook: createSocialGrants() };
  const issuer = `${origin}/google`;
  const client = { clientId, clientSecret };
  const routes: Record<SocialName, SocialRoutes> = {
    google: {
      ...signInRoutes('Google', grants.google, issuer),
      ...(await createOidcProviderRoutes({ ...client, issuer, grants: grants.google })),
    },
    facebook: {
      ...signInRoutes('Facebook', grants.facebook),
      ...createOAuth2ProviderRoutes({ ...client, grants: grants.facebook }),
    },
  };
  const outages: SocialProviders['outages'] = { google: 'none', facebook: 'none' };

  server.on('request', (request, response) => {
    const url = new URL(request.url ?? '/', origin);
    const [, name, path] = /^\/(google|facebook)(\/.*)$/.exec(url.pathname) ?? [];
    if (!name) return send(response, { status: 404, json: { error: 'not_found' } });
    const provider = name as SocialName;
    if (outages[provider] === 'no-response') return;
    if (outages[provider] === 'unavailable') return send(response, { status: 503, json: { error: 'unavailable' } });
    const handler = routes[provider][`${request.method} ${path}`];
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
      .then((result) => send(response, result))
      .catch((error: Error) => send(response, { status: 500, json: { error: error.message } }));
  });

  return {
    origin,
    outages,
    settings: settingsOf(origin, issuer),
    nativeToken: (name, userId, options = {}) => {
      const user = grants[name].findUser(userId);
      if (!user) throw new Error(`the stand-ins have no user ${userId}`);
      return grants[name].issueToken(user, options.clientId ?? nativeClientId, options.lifetimeSeconds);
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function settingsOf(origin: string, issuer: string): SocialProviders['settings'] {
  return {
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
  };
}

/** Returns the routes of the sign-in page and, for the demo, a route that issues an access token to a native app. */
function signInRoutes(title: string, grants: SocialGrants, issuer?: string): SocialRoutes {
  return {
    // The form of the page sends the same query string with POST. GET has already checked it, so POST does not.
    'GET /authorize': ({ query }) =>
      query.get('client_id') === clientId && URL.canParse(query.get('redirect_uri') ?? '')
        ? { html: socialSignInPage(title, `?${query}`) }
        : { status: 400, json: { error: 'invalid_request' } },
    'POST /authorize': ({ query, form }) => {
      const callback = new URL(query.get('redirect_uri') ?? '');
      const user = grants.findUser(form.get('user') ?? '');
      const result = user
        ? { code: grants.issueCode(user, query) }
        : { error: 'access_denied', error_description: 'the user cancelled' };
      for (const [name, value] of Object.entries(result)) callback.searchParams.set(name, value);
      callback.searchParams.set('state', query.get('state') ?? '');
      // Only the stand-in with OpenID Connect has an `issuer` (RFC 9207).
      if (issuer) callback.searchParams.set('iss', issuer);
      return { status: 303, location: callback.href };
    },
    'GET /native-token': ({ query }) => {
      const user = grants.findUser(query.get('user') ?? '100001');
      if (!user) return { status: 404, json: { error: 'not_found' } };
      const accessToken = grants.issueToken(user, nativeClientId);
      return { json: { access_token: accessToken, token_type: 'Bearer', expires_in: 3600 } };
    },
  };
}

const maxBodyLength = 65_536;

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = '';
  for await (const chunk of request) {
    body += chunk;
    if (body.length > maxBodyLength) throw new Error('the body is too long');
  }
  return new URLSearchParams(body);
}

function send(response: ServerResponse, { status = 200, json, html, location }: SocialResponse): void {
  response.writeHead(status, {
    'Content-Type': html === undefined ? 'application/json' : 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    ...(location !== undefined && { Location: location }),
  });
  response.end(html ?? (json === undefined ? undefined : JSON.stringify(json)));
}
