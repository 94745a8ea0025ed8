// There and back: the browser goes to the provider with state, nonce and PKCE, and comes back with a code that becomes an identity
// (OpenID Connect Core section 3.1; RFC 7636; mix-up defence by a callback of its own for each provider and RFC 9207's `iss`).
import { randomBytes } from 'node:crypto';
import * as openid from 'openid-client';
import type { SocialIdentity } from '../accounts/social-identity-store.ts';
import type { Connect, Connection } from './connections.ts';
import { addUserinfo, fetchOAuth2Profile, identityFrom } from './profile.ts';
import type { Attempt, SocialStore } from './store.ts';

export type Origin = Pick<Attempt, 'interactionUid' | 'returnTo' | 'linkAccountId'>;

export type CallbackResult =
  | { readonly attempt: Attempt; readonly identity: SocialIdentity }
  /** `denied`: the person or the provider said no. `failed`: it could not be finished, for the log. */
  | { readonly attempt: Attempt; readonly refused: 'denied' | 'failed'; readonly reason: string };

export type AuthorizationFlow = ReturnType<typeof createAuthorizationFlow>;

export function createAuthorizationFlow({
  connect,
  store,
  issuer,
}: {
  connect: Connect;
  store: SocialStore;
  issuer: string;
}) {
  const callbackOf = (name: string): string => `${issuer}/social/${name}/callback`;

  const identify = async (
    connection: Connection,
    attempt: Attempt,
    state: string,
    address: URL,
  ): Promise<SocialIdentity> => {
    const { provider, configuration } = connection;
    const tokens = await openid.authorizationCodeGrant(configuration, address, {
      expectedState: state,
      pkceCodeVerifier: attempt.codeVerifier,
      ...(provider.type === 'oidc' && { expectedNonce: attempt.nonce, idTokenExpected: true }),
    });
    if (provider.type === 'oauth2') {
      return identityFrom(provider.name, await fetchOAuth2Profile(provider, configuration, tokens.access_token));
    }
    const claims = tokens.claims();
    if (!claims) throw new Error('there is no id_token');
    return identityFrom(provider.name, await addUserinfo(connection, tokens.access_token, claims));
  };

  return {
    /** Where to send the browser. Undefined when there is no such provider. @throws {Error} when it cannot be reached */
    async begin(name: string, browser: string, origin: Origin): Promise<URL | undefined> {
      const connection = await connect(name);
      if (!connection) return undefined;
      const state = openid.randomState();
      const nonce = openid.randomNonce();
      const codeVerifier = openid.randomPKCECodeVerifier();
      await store.begin({ state, browser }, { ...origin, provider: name, nonce, codeVerifier });
      const { provider, configuration } = connection;
      return openid.buildAuthorizationUrl(configuration, {
        redirect_uri: callbackOf(name),
        state,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(provider.scope && { scope: provider.scope }),
        ...(provider.type === 'oidc' && { nonce }),
      });
    },

    /** Undefined when nobody of this browser set out, or came back already. */
    async callback(name: string, browser: string, query: string): Promise<CallbackResult | undefined> {
      const address = new URL(callbackOf(name));
      address.search = query;
      const state = address.searchParams.get('state') ?? '';
      const attempt = await store.take({ state, browser, provider: name });
      if (!attempt) return undefined;
      try {
        const connection = await connect(name);
        if (!connection) return undefined;
        return { attempt, identity: await identify(connection, attempt, state, address) };
      } catch (error) {
        const denied = error instanceof openid.AuthorizationResponseError;
        const { error: code, message, cause } = error as Error & { error?: string };
        const reason = [code, message, (cause as Error | undefined)?.message].filter(Boolean).join(': ');
        return { attempt, refused: denied ? 'denied' : 'failed', reason };
      }
    },
  };
}

export const newBrowserSecret = (): string => randomBytes(24).toString('base64url');
