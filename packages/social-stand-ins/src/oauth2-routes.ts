// Defines the routes of a stand-in for a social provider with OAuth 2.0. It has the same endpoints as Facebook.
import type { SocialGrants } from './grants.ts';
import type { SocialRoutes } from './providers.ts';

export interface OAuth2ProviderOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly grants: SocialGrants;
}

/** Facebook uses the code 190 for errors of access tokens. */
const error = (message: string) => ({ status: 400, json: { error: { message, code: 190 } } });

export function createOAuth2ProviderRoutes({ clientId, clientSecret, grants }: OAuth2ProviderOptions): SocialRoutes {
  return {
    'POST /token': ({ form }) => {
      if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret) {
        return error('Error validating client secret.');
      }
      const issued = grants.redeemCode(form, clientId);
      if (!issued) return error('This authorization code has been used.');
      const accessToken = grants.issueToken(issued.user, clientId);
      return { json: { access_token: accessToken, token_type: 'bearer', expires_in: 3600 } };
    },
    'GET /me': ({ bearer, query }) => {
      const issued = grants.findToken(bearer ?? query.get('access_token'));
      if (!issued) return error('Invalid OAuth access token.');
      const { id, name, email } = issued.user;
      return { json: { id, name, email } };
    },
    'GET /debug_token': ({ query }) => {
      // As at Facebook, the client authenticates with this combination of its id and its secret.
      if (query.get('access_token') !== `${clientId}|${clientSecret}`) return error('Invalid OAuth access token.');
      const issued = grants.findToken(query.get('input_token'));
      const data = issued ? { is_valid: true, app_id: issued.clientId, user_id: issued.user.id } : { is_valid: false };
      return { json: { data } };
    },
  };
}
