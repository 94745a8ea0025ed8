// Imitates an OAuth 2.0 social provider with the endpoints of Facebook.
import express, { type Response, type Router } from 'express';
import type { SocialGrants } from './grants.ts';
import { bearerOf, formOf, queryOf, registeredClient } from './sign-in.ts';

const { clientId, clientSecret } = registeredClient;

/** Facebook uses code 190 for access token errors. */
const sendError = (response: Response, message: string) =>
  void response.status(400).json({ error: { message, code: 190 } });

export function createOAuth2Provider(grants: SocialGrants): Router {
  return express
    .Router()
    .post('/token', (request, response) => {
      const form = formOf(request);
      if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret)
        return sendError(response, 'Error validating client secret.');
      const issued = grants.redeemCode(form);
      if (!issued) return sendError(response, 'This authorization code has been used.');
      const accessToken = grants.issueToken(issued.user, clientId);
      response.json({ access_token: accessToken, token_type: 'bearer', expires_in: 3600 });
    })
    .get('/me', (request, response) => {
      const issued = grants.findToken(bearerOf(request) ?? queryOf(request).get('access_token'));
      if (!issued) return sendError(response, 'Invalid OAuth access token.');
      response.json(issued.user);
    })
    .get('/debug_token', (request, response) => {
      const query = queryOf(request);
      // As at Facebook, the client authenticates with this combination of id and secret.
      if (query.get('access_token') !== `${clientId}|${clientSecret}`)
        return sendError(response, 'Invalid OAuth access token.');
      const issued = grants.findToken(query.get('input_token'));
      const data = issued ? { is_valid: true, app_id: issued.clientId, user_id: issued.user.id } : { is_valid: false };
      response.json({ data });
    });
}
