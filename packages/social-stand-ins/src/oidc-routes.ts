// Defines the routes of a stand-in for a social provider with OpenID Connect, except for /authorize.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { SocialGrants } from './grants.ts';
import type { SocialRequest, SocialRoutes } from './providers.ts';

export interface OidcProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly grants: SocialGrants;
}

export async function createOidcProviderRoutes(options: OidcProviderOptions): Promise<SocialRoutes> {
  const { issuer, clientId, clientSecret, grants } = options;
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'stand-in', alg: 'ES256', use: 'sig' };

  /** The credentials of the client are in the Authorization header (HTTP Basic, RFC 6749 2.3.1). */
  const isAuthenticated = ({ headers }: SocialRequest): boolean => {
    const credentials = headers.authorization?.replace(/^Basic /, '') ?? '';
    const [id, secret] = Buffer.from(credentials, 'base64').toString().split(':').map(decodeURIComponent);
    return id === clientId && secret === clientSecret;
  };

  return {
    'GET /.well-known/openid-configuration': () => ({
      json: {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/jwks`,
        introspection_endpoint: `${issuer}/introspect`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      },
    }),
    'GET /jwks': () => ({ json: { keys: [jwk] } }),
    'POST /token': async (request) => {
      if (!isAuthenticated(request)) return { status: 401, json: { error: 'invalid_client' } };
      const issued = grants.redeemCode(request.form, clientId);
      if (!issued) return { status: 400, json: { error: 'invalid_grant' } };
      const { id, name, email } = issued.user;
      const claims = { name, email, email_verified: true, ...(issued.nonce && { nonce: issued.nonce }) };
      const idToken = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: jwk.kid })
        .setIssuer(issuer)
        .setAudience(clientId)
        .setSubject(id)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey);
      const accessToken = grants.issueToken(issued.user, clientId);
      return { json: { access_token: accessToken, token_type: 'Bearer', expires_in: 3600, id_token: idToken } };
    },
    'GET /userinfo': ({ bearer }) => {
      const issued = grants.findToken(bearer);
      if (!issued) return { status: 401, json: { error: 'invalid_token' } };
      const { id, name, email } = issued.user;
      return { json: { sub: id, name, email, email_verified: true } };
    },
    'POST /introspect': (request) => {
      if (!isAuthenticated(request)) return { status: 401, json: { error: 'invalid_client' } };
      const issued = grants.findToken(request.form.get('token'));
      if (!issued) return { json: { active: false } };
      const exp = Math.floor(issued.expiresAt / 1000);
      return { json: { active: true, client_id: issued.clientId, sub: issued.user.id, exp } };
    },
  };
}
