// Serves a stand-in provider's sign-in page and, for the demo, access tokens of a native app.
import express, { type Request, type Router } from 'express';
import type { SocialGrants } from './grants.ts';
import { socialSignInPage } from './sign-in-page.ts';

export const registeredClient = { clientId: 'bay-booking', clientSecret: 'stand-in-secret' };
export const nativeClientId = 'bay-booking-native';

export const queryOf = ({ url }: Request) => new URLSearchParams(url.split('?')[1]);
export const formOf = ({ body }: Request) => new URLSearchParams(typeof body === 'string' ? body : '');
export const bearerOf = (request: Request) => /^Bearer (.+)$/i.exec(request.get('authorization') ?? '')?.[1];

/** Only an OpenID Connect provider has an issuer, which its responses name (RFC 9207). */
export function createSignInRoutes(title: string, grants: SocialGrants, issuer?: string): Router {
  return (
    express
      .Router()
      .get('/authorize', (request, response) => {
        const query = queryOf(request);
        if (query.get('client_id') === registeredClient.clientId && URL.canParse(query.get('redirect_uri') ?? ''))
          response.send(socialSignInPage(title, `?${query}`));
        else response.status(400).json({ error: 'invalid_request' });
      })
      // The page's form sends the same query string. GET has checked it, so POST does not.
      .post('/authorize', (request, response) => {
        const query = queryOf(request);
        const callback = new URL(query.get('redirect_uri') ?? '');
        const user = grants.findUser(formOf(request).get('user'));
        const result = user
          ? { code: grants.issueCode(user, query) }
          : { error: 'access_denied', error_description: 'the user cancelled' };
        const parameters = { ...result, state: query.get('state') ?? '', ...(issuer && { iss: issuer }) };
        for (const [name, value] of Object.entries(parameters)) callback.searchParams.set(name, value);
        response.redirect(303, callback.href);
      })
      .get('/native-token', (request, response) => {
        const user = grants.findUser(queryOf(request).get('user') ?? '100001');
        if (!user) return void response.status(404).json({ error: 'not_found' });
        const accessToken = grants.issueToken(user, nativeClientId);
        response.json({ access_token: accessToken, token_type: 'Bearer', expires_in: 3600 });
      })
  );
}
