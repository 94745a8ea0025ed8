// Simulates Microsoft, Apple and GitHub at their public addresses, for the tests of the presets.
//
// The simulation covers the behaviour in which these providers differ from others. A test replaces the global `fetch`
// by the `fetch` of this file, so no request to these providers goes to the network.
import { createSocialGrants, type IssuedCode } from '@bay-booking/social-stand-ins/grants';
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';

export interface PublicProviders {
  /** A replacement for `fetch`. It responds to requests to the providers. The real `fetch` sends all other requests. */
  readonly fetch: typeof fetch;
  /** Simulates the user who signs in at an authorization URL of the provider, or who cancels (`userId` undefined). */
  readonly signIn: (authorizationUrl: URL, userId: string | undefined) => URL;
}

export interface PublicProvidersOptions {
  readonly clientId: string;
  /** The client secret at Microsoft and GitHub. */
  readonly clientSecret: string;
  /** The client secret at Apple is a JWT. The simulated Apple verifies its signature with this key. */
  readonly applePublicKey: Awaited<ReturnType<typeof generateKeyPair>>['publicKey'];
}

type Handler = (request: Request, form: URLSearchParams) => Promise<Response> | Response;

const signInAddresses = [
  'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
  'https://appleid.apple.com/auth/authorize',
  'https://github.com/login/oauth/authorize',
];
/** The tenant of all users at Microsoft. */
const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47';
const invalidClient = () => Response.json({ error: 'invalid_client' }, { status: 401 });
const invalidGrant = () => Response.json({ error: 'invalid_grant' }, { status: 400 });

export async function createPublicProviders(options: PublicProvidersOptions): Promise<PublicProviders> {
  const { clientId, clientSecret, applePublicKey } = options;
  const grants = createSocialGrants();
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'stand-in', alg: 'RS256', use: 'sig' }] };

  const tokenResponse = async ({ user, nonce }: IssuedCode, issuer: string, claims: Record<string, string> = {}) => {
    const idToken = await new SignJWT({ ...claims, ...(nonce && { nonce }) })
      .setProtectedHeader({ alg: 'RS256', kid: 'stand-in' })
      .setIssuer(issuer)
      .setAudience(clientId)
      .setSubject(user.id)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey);
    const accessToken = grants.issueToken(user, clientId);
    return Response.json({ access_token: accessToken, token_type: 'Bearer', expires_in: 3600, id_token: idToken });
  };

  const microsoft = 'https://login.microsoftonline.com';
  const apple = 'https://appleid.apple.com';
  const routes: Record<string, Handler> = {
    // Microsoft: each tenant has its own issuer, so the issuer in the discovery document contains a placeholder. Of the
    // three methods of client authentication, this simulation supports only Basic, which auth prefers.
    [`GET ${microsoft}/common/v2.0/.well-known/openid-configuration`]: () =>
      Response.json({
        issuer: `${microsoft}/{tenantid}/v2.0`,
        authorization_endpoint: `${microsoft}/common/oauth2/v2.0/authorize`,
        token_endpoint: `${microsoft}/common/oauth2/v2.0/token`,
        jwks_uri: `${microsoft}/common/discovery/v2.0/keys`,
        userinfo_endpoint: 'https://graph.microsoft.com/oidc/userinfo',
        token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
        id_token_signing_alg_values_supported: ['RS256'],
      }),
    [`GET ${microsoft}/common/discovery/v2.0/keys`]: () => Response.json(jwks),
    [`POST ${microsoft}/common/oauth2/v2.0/token`]: (request, form) => {
      const credentials = request.headers.get('authorization')?.replace(/^Basic /, '') ?? '';
      const [id, secret] = Buffer.from(credentials, 'base64').toString().split(':').map(decodeURIComponent);
      if (id !== clientId || secret !== clientSecret) return invalidClient();
      const issued = grants.redeemCode(form);
      if (!issued) return invalidGrant();
      const { name, email } = issued.user;
      return tokenResponse(issued, `${microsoft}/${tenant}/v2.0`, { tid: tenant, name, email });
    },

    // Apple: the client secret is a JWT, which is accepted in the body only.
    [`GET ${apple}/.well-known/openid-configuration`]: () =>
      Response.json({
        issuer: apple,
        authorization_endpoint: `${apple}/auth/authorize`,
        token_endpoint: `${apple}/auth/token`,
        jwks_uri: `${apple}/auth/keys`,
        token_endpoint_auth_methods_supported: ['client_secret_post'],
        id_token_signing_alg_values_supported: ['RS256'],
      }),
    [`GET ${apple}/auth/keys`]: () => Response.json(jwks),
    [`POST ${apple}/auth/token`]: async (request, form) => {
      const jwt = await jwtVerify(form.get('client_secret') ?? '', applePublicKey, { subject: clientId }).catch(
        () => {},
      );
      if (!jwt || request.headers.has('authorization')) return invalidClient();
      const issued = grants.redeemCode(form);
      return issued ? tokenResponse(issued, apple) : invalidGrant();
    },

    // GitHub: errors of the token endpoint have status 200, user ids are numbers, and requests to the API need the
    // header User-Agent.
    'POST https://github.com/login/oauth/access_token': (request, form) => {
      // By default, GitHub encodes its responses as forms.
      if (!request.headers.get('accept')?.includes('application/json')) return new Response('access_token=…');
      if (form.get('client_secret') !== clientSecret) return Response.json({ error: 'incorrect_client_credentials' });
      const issued = grants.redeemCode(form);
      if (!issued) return Response.json({ error: 'bad_verification_code' });
      const accessToken = grants.issueToken(issued.user, clientId);
      return Response.json({ access_token: accessToken, token_type: 'bearer', scope: 'read:user' });
    },
    'GET https://api.github.com/user': ({ headers }) => {
      const issued = grants.findToken(headers.get('authorization')?.replace(/^bearer /i, ''));
      if (!issued || !headers.get('user-agent')) return Response.json({ message: 'Forbidden' }, { status: 403 });
      const { id, name } = issued.user;
      return Response.json({ id: Number(id), login: name.toLowerCase(), name, email: null });
    },
  };

  const realFetch = globalThis.fetch;
  return {
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const handler = routes[`${request.method} ${request.url}`];
      if (!handler) return realFetch(input, init);
      return handler(request, new URLSearchParams(request.method === 'POST' ? await request.text() : ''));
    },

    signIn: (authorizationUrl, userId) => {
      const address = `${authorizationUrl.origin}${authorizationUrl.pathname}`;
      const query = authorizationUrl.searchParams;
      if (!signInAddresses.includes(address) || query.get('client_id') !== clientId)
        throw new Error('wrong address or client');
      const isApple = authorizationUrl.origin === apple;
      // Apple allows the scopes name and email only with `response_mode=form_post`, which auth never sends
      // (src/social/presets.ts).
      if (isApple && /name|email/.test(query.get('scope') ?? '')) {
        throw new Error('response_mode must be form_post when name or email scope is requested');
      }
      const callback = new URL(query.get('redirect_uri') ?? '');
      callback.searchParams.set('state', query.get('state') ?? '');
      const user = userId === undefined ? undefined : grants.findUser(userId);
      if (user) callback.searchParams.set('code', grants.issueCode(user, query));
      else callback.searchParams.set('error', isApple ? 'user_cancelled_authorize' : 'access_denied');
      return callback;
    },
  };
}
