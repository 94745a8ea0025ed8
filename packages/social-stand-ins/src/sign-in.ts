// Serves a stand-in provider's sign-in page and, for the demo, access tokens of a native app.
import express, { type Request, type Router } from 'express';
import { type SocialGrants, socialUsers } from './grants.ts';

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

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const style = `
:root { color-scheme: light dark }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 1rem/1.5 system-ui, sans-serif;
  background: light-dark(#eef1f6, #14171c); color: light-dark(#1b2230, #e8ebf0) }
main { width: min(24rem, calc(100vw - 2rem)); box-sizing: border-box; padding: 2rem; border-radius: 1rem;
  background: light-dark(#fff, #1e232b) }
h1 { margin: 0 0 .25rem; font-size: 1.4rem }
p { margin: 0 0 1.25rem; color: light-dark(#556, #aab) }
button { display: block; width: 100%; margin: .5rem 0; padding: .75rem 1rem; text-align: start; font: inherit;
  color: inherit; background: light-dark(#f5f7fa, #2a313b); border: 1px solid light-dark(#8a94a6, #6b7688);
  border-radius: .6rem; cursor: pointer }
small { display: block; color: light-dark(#556, #aab) }`;

/** The form field `user` contains the chosen user's id. It is empty if the user cancels. */
function socialSignInPage(provider: string, action: string): string {
  const buttons = socialUsers.map(
    ({ id, name, email }) =>
      `<button name="user" value="${id}">${escapeHtml(name)}<small>${escapeHtml(email)}</small></button>`,
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in with ${provider} (stand-in)</title><style>${style}</style></head>
<body><main><h1>${provider}, a stand-in</h1><p>This page replaces the sign-in page of ${provider}. Who are you?</p>
<form method="post" action="${escapeHtml(action)}">
${buttons.join('\n')}
<button name="user" value="">Cancel</button>
</form></main></body></html>`;
}
