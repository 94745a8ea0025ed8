// Starts two stand-in social providers on one port, for the demo and for tests: `google` with OpenID Connect and
// `facebook` with OAuth 2.0.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express, { type RequestHandler } from 'express';
import { createSocialGrants } from './grants.ts';
import { createOAuth2Provider } from './oauth2-provider.ts';
import { createOidcProvider } from './oidc-provider.ts';
import { createSignInRoutes, nativeClientId, registeredClient } from './sign-in.ts';

export type SocialName = 'google' | 'facebook';
export type Outage = 'none' | 'no-response' | 'unavailable';

export async function startSocialProviders() {
  const app = express().disable('x-powered-by').disable('etag');
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const issuer = `${origin}/google`;
  const grants = { google: createSocialGrants(), facebook: createSocialGrants() };
  /** Tests set these values. `no-response`: the stand-in never responds. `unavailable`: it responds with 503. */
  const outages: Record<SocialName, Outage> = { google: 'none', facebook: 'none' };
  /** Tests set how many seconds ago the users of `google` signed in there. */
  const session = { seconds: 0 };
  const failDuringOutage =
    (name: SocialName): RequestHandler =>
    (_request, response, next) => {
      response.set('Cache-Control', 'no-store');
      if (outages[name] === 'unavailable') response.status(503).json({ error: 'unavailable' });
      else if (outages[name] === 'none') next();
    };
  app.use(express.text({ type: 'application/x-www-form-urlencoded' }));
  app.use('/google', failDuringOutage('google'), createSignInRoutes('Google', grants.google, issuer));
  app.use('/google', await createOidcProvider(grants.google, issuer, () => session.seconds));
  app.use('/facebook', failDuringOutage('facebook'), createSignInRoutes('Facebook', grants.facebook));
  app.use('/facebook', createOAuth2Provider(grants.facebook));

  return {
    origin,
    outages,
    session,
    /** The content of a SOCIAL_PROVIDERS_FILE that configures auth to use the stand-ins. */
    settings: {
      google: { type: 'oidc', issuer, ...registeredClient, nativeAudiences: [nativeClientId] },
      facebook: {
        type: 'oauth2',
        authorizationEndpoint: `${origin}/facebook/authorize`,
        tokenEndpoint: `${origin}/facebook/token`,
        userinfoEndpoint: `${origin}/facebook/me`,
        tokenInfoEndpoint: `${origin}/facebook/debug_token`,
        ...registeredClient,
        scope: 'email public_profile',
        nativeAudiences: [nativeClientId],
        claims: { sub: 'id', name: 'name', email: 'email' },
      },
    },
    /** Issues a user's access token to the native app `clientId`. Default: the app that `settings` accepts. */
    nativeToken: (
      name: SocialName,
      userId: string,
      { clientId = nativeClientId, lifetimeSeconds }: { clientId?: string; lifetimeSeconds?: number } = {},
    ) => {
      const user = grants[name].findUser(userId);
      if (!user) throw new Error(`the stand-ins have no user ${userId}`);
      return grants[name].issueToken(user, clientId, lifetimeSeconds);
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
