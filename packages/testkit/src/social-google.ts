// The stand-in for an OpenID Connect provider: discovery, code flow with PKCE and signed id_tokens, userinfo and introspection.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { SocialGrants } from './social-grants.ts';
import type { Answer, SocialRequest } from './social-providers.ts';

export interface GoogleOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly grants: SocialGrants;
}

export async function playGoogle({ issuer, clientId, clientSecret, grants }: GoogleOptions) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'stand-in', alg: 'ES256', use: 'sig' };

  const isClient = ({ headers, form }: SocialRequest): boolean => {
    const [id, secret] = Buffer.from(headers.authorization?.replace(/^Basic /, '') ?? '', 'base64')
      .toString()
      .split(':')
      .map(decodeURIComponent);
    return (id ?? form.get('client_id')) === clientId && (secret ?? form.get('client_secret')) === clientSecret;
  };

  const routes: Record<string, (request: SocialRequest) => Answer | Promise<Answer>> = {
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
      if (!isClient(request)) return { status: 401, json: { error: 'invalid_client' } };
      const facts = grants.redeem(request.form, clientId);
      if (!facts) return { status: 400, json: { error: 'invalid_grant' } };
      const { id, name, email } = facts.person;
      const idToken = await new SignJWT({
        name,
        email,
        email_verified: true,
        ...(facts.nonce && { nonce: facts.nonce }),
      })
        .setProtectedHeader({ alg: 'ES256', kid: jwk.kid })
        .setIssuer(issuer)
        .setAudience(clientId)
        .setSubject(id)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey);
      const accessToken = grants.issueToken(facts.person, clientId);
      return { json: { access_token: accessToken, token_type: 'Bearer', expires_in: 3600, id_token: idToken } };
    },
    'GET /userinfo': ({ bearer }) => {
      const facts = grants.live(bearer);
      if (!facts) return { status: 401, json: { error: 'invalid_token' } };
      const { id, name, email } = facts.person;
      return { json: { sub: id, name, email, email_verified: true } };
    },
    'POST /introspect': (request) => {
      if (!isClient(request)) return { status: 401, json: { error: 'invalid_client' } };
      const facts = grants.live(request.form.get('token'));
      return {
        json: facts
          ? { active: true, client_id: facts.clientId, sub: facts.person.id, exp: Math.floor(facts.expiresAt / 1000) }
          : { active: false },
      };
    },
  };
  return routes;
}
