// Imitates an OpenID Connect social provider.
import express, { type Request } from 'express';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { SocialGrants } from './grants.ts';
import { bearerOf, formOf, registeredClient } from './sign-in.ts';

/** `secondsSinceSignIn` returns how long ago the user signed in at the provider, for the claim `auth_time`. */
export async function createOidcProvider(grants: SocialGrants, issuer: string, secondsSinceSignIn: () => number) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'stand-in', alg: 'ES256', use: 'sig' };

  /** The client authenticates with HTTP Basic (RFC 6749 section 2.3.1). */
  const isAuthenticated = (request: Request): boolean => {
    const credentials = request.get('authorization')?.replace(/^Basic /, '') ?? '';
    const [id, secret] = Buffer.from(credentials, 'base64').toString().split(':').map(decodeURIComponent);
    return id === registeredClient.clientId && secret === registeredClient.clientSecret;
  };

  return express
    .Router()
    .get('/.well-known/openid-configuration', (_request, response) => {
      response.json({
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
      });
    })
    .get('/jwks', (_request, response) => void response.json({ keys: [jwk] }))
    .post('/token', async (request, response) => {
      if (!isAuthenticated(request)) return void response.status(401).json({ error: 'invalid_client' });
      const issued = grants.redeemCode(formOf(request));
      if (!issued) return void response.status(400).json({ error: 'invalid_grant' });
      const { id, name, email } = issued.user;
      const idToken = await new SignJWT({
        name,
        email,
        email_verified: true,
        auth_time: Math.floor(Date.now() / 1000) - secondsSinceSignIn(),
        ...(issued.nonce && { nonce: issued.nonce }),
      })
        .setProtectedHeader({ alg: 'ES256', kid: jwk.kid })
        .setIssuer(issuer)
        .setAudience(registeredClient.clientId)
        .setSubject(id)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey);
      const accessToken = grants.issueToken(issued.user, registeredClient.clientId);
      response.json({ access_token: accessToken, token_type: 'Bearer', expires_in: 3600, id_token: idToken });
    })
    .get('/userinfo', (request, response) => {
      const issued = grants.findToken(bearerOf(request));
      if (!issued) return void response.status(401).json({ error: 'invalid_token' });
      const { id, name, email } = issued.user;
      response.json({ sub: id, name, email, email_verified: true });
    })
    .post('/introspect', (request, response) => {
      if (!isAuthenticated(request)) return void response.status(401).json({ error: 'invalid_client' });
      const issued = grants.findToken(formOf(request).get('token'));
      if (!issued) return void response.json({ active: false });
      const exp = Math.floor(issued.expiresAt / 1000);
      response.json({ active: true, client_id: issued.clientId, sub: issued.user.id, exp });
    });
}
