// Runs the authorization code flow at a social provider. Only the browser that began a flow can finish it.
//
// Each provider has its own callback URL, so one provider's response is not accepted as another's.
import { randomBytes } from 'node:crypto';
import type { Database } from '@bay-booking/service/database/database';
import * as openid from 'openid-client';
import type { SocialIdentity } from '../accounts/social-identity-store.ts';
import type { AuthConfig } from '../config.ts';
import { SignInCancelledError } from './provider.ts';
import type { SocialProviders } from './settings.ts';
import { createSocialStore, type FlowPurpose, type PendingFlow } from './store.ts';

export type CallbackResult =
  | ({ readonly flow: PendingFlow; readonly identity: SocialIdentity } & Freshness)
  /** `reason` is for the log. Users do not see it. */
  | { readonly flow: PendingFlow; readonly failure: 'cancelled' | 'failed'; readonly reason: string };

export interface Freshness {
  /** Whether the user has signed in at the provider since the flow began. Undefined: the provider does not say. */
  readonly isFresh: boolean | undefined;
  /** When the user is known to have signed in at the provider, in seconds since 1970, but at most a day ago. */
  readonly signedInAt: number;
}

/** The clock of the provider may differ by as much. */
const clockToleranceSeconds = 30;
/** A session lasts for 30 days since the sign-in. An older sign-in at the provider must not end it at once. */
const oldestSignInSeconds = 24 * 3600;

interface FlowOptions {
  readonly config: AuthConfig;
  readonly db: Database;
  readonly providers: SocialProviders;
}

export function createAuthorizationFlow({ config, db, providers }: FlowOptions) {
  const store = createSocialStore({ db });
  const callbackUrlOf = (provider: string): string => `${config.issuer}/social/${provider}/callback`;

  return {
    /**
     * Stores a new flow and returns the URL that the browser must be redirected to. Returns undefined if there is no
     * such provider, or if it cannot confirm a sign-in. `browserSecret` is the value of the cookie that identifies the
     * browser at the callback. If `mustSignIn`, an old session at the provider must not be enough.
     *
     * @throws {Error} if the provider cannot be reached
     */
    async begin(
      name: string,
      browserSecret: string,
      purpose: FlowPurpose,
      mustSignIn: boolean,
    ): Promise<URL | undefined> {
      const provider = providers.get(name);
      if (!provider) return undefined;
      const secrets = {
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        codeVerifier: openid.randomPKCECodeVerifier(),
      };
      if (purpose.confirmAccountId !== null && !provider.canConfirm) return undefined;
      const url = await provider.authorizationUrl(callbackUrlOf(name), secrets, mustSignIn);
      const { state, nonce, codeVerifier } = secrets;
      await store.add(state, browserSecret, { ...purpose, provider: name, nonce, codeVerifier });
      return url;
    },

    /** Finishes a flow. Returns undefined if this browser has not begun the flow, or has already finished it. */
    async callback(name: string, browserSecret: string, query: string): Promise<CallbackResult | undefined> {
      const provider = providers.get(name);
      if (!provider) return undefined;
      const url = new URL(callbackUrlOf(name));
      url.search = query;
      const state = url.searchParams.get('state') ?? '';
      const flow = await store.consume(state, browserSecret, name);
      if (!flow) return undefined;
      const { nonce, codeVerifier, age } = flow;
      try {
        const { identity, authTime } = await provider.redeemCallback(url, { state, nonce, codeVerifier });
        return { flow, identity, ...freshnessOf(authTime, age) };
      } catch (error) {
        const failure = error instanceof SignInCancelledError ? 'cancelled' : 'failed';
        return { flow, failure, reason: describe(error as Error) };
      }
    },
  };
}

function freshnessOf(authTime: number | undefined, flowAge: number): Freshness {
  const now = Math.floor(Date.now() / 1000);
  const signedInAt = Math.min(now, Math.max(authTime ?? 0, now - oldestSignInSeconds));
  return {
    signedInAt,
    isFresh: authTime === undefined ? undefined : authTime >= now - flowAge - clockToleranceSeconds,
  };
}

/** openid-client puts the provider's error code into `error`, and details into `cause`. */
function describe({ error, message, cause }: Error & { error?: string }): string {
  return [error, message, (cause as Error | undefined)?.message].filter(Boolean).join(': ');
}

export const newBrowserSecret = (): string => randomBytes(24).toString('base64url');
