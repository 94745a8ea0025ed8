// The stand-in for an OAuth 2 provider that knows no OpenID Connect: code flow, a profile in its own words, and debug_token.
import type { SocialGrants } from './social-grants.ts';
import type { Answer, SocialRequest } from './social-providers.ts';

export interface FacebookOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly grants: SocialGrants;
}

export function playFacebook({ clientId, clientSecret, grants }: FacebookOptions) {
  const routes: Record<string, (request: SocialRequest) => Answer> = {
    'POST /token': ({ form }) => {
      if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret)
        return { status: 400, json: { error: { message: 'Error validating client secret.' } } };
      const facts = grants.redeem(form, clientId);
      if (!facts) return { status: 400, json: { error: { message: 'This authorization code has been used.' } } };
      return {
        json: { access_token: grants.issueToken(facts.person, clientId), token_type: 'bearer', expires_in: 3600 },
      };
    },
    'GET /me': ({ bearer, query }) => {
      const facts = grants.live(bearer ?? query.get('access_token'));
      if (!facts) return { status: 400, json: { error: { message: 'Invalid OAuth access token.', code: 190 } } };
      const { id, name, email } = facts.person;
      return { json: { id, name, email } };
    },
    'GET /debug_token': ({ query }) => {
      if (query.get('access_token') !== `${clientId}|${clientSecret}`)
        return { status: 400, json: { error: { message: 'Invalid OAuth access token.', code: 190 } } };
      const facts = grants.live(query.get('input_token'));
      return {
        json: {
          data: facts ? { is_valid: true, app_id: facts.clientId, user_id: facts.person.id } : { is_valid: false },
        },
      };
    },
  };
  return routes;
}
