// Adds our own rules for clients to the token endpoint and the device authorization endpoint of oidc-provider:
// - The secret that a client sends is compared with stored hashes.
// - Each client has a rate limit.
// - A grant type that the client is not registered for gives `unauthorized_client` (RFC 6749 section 5.2).
// - The scopes of a device authorization request must follow our scope rules.
// - Repeated spaces in the parameter `scope` are accepted.
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { matchesSecret } from '../../clients/secret.ts';
import { addressKey } from '../../guard/keys.ts';
import type { RateLimit } from '../../http/rate-limit.ts';
import { checkRequestedScopes } from '../authorization/requested-scope.ts';
import { normaliseScope, type ScopeTable } from '../authorization/scopes.ts';
import { deviceCodeGrantType } from '../grants/grant-types.ts';
import { requestState } from '../request-state.ts';
import { effectiveScopes, ownMetadataOf, type RegisteredClient } from './registered-client.ts';

/**
 * Counts a token request. Returns the seconds that the client must wait, or 0 if the request is allowed.
 * Many users share a public client. The requests of a public client are therefore counted separately for each IPv4
 * address and each IPv6 /64 network.
 */
export const countTokenRequest = (limit: RateLimit, client: RegisteredClient, address: string): number =>
  limit(client.clientAuthMethod === 'none' ? `${client.clientId} ${addressKey(address)}` : client.clientId);

export interface ClientPolicyOptions {
  readonly limit: RateLimit;
  readonly scopes: ScopeTable;
}

export function applyClientPolicy(provider: Provider, { limit, scopes }: ClientPolicyOptions): void {
  const clientPrototype = provider.Client.prototype as RegisteredClient;
  const isRegisteredFor = clientPrototype.grantTypeAllowed;

  clientPrototype.compareClientSecret = function compareWithHashes(this: RegisteredClient, presented: string): boolean {
    return matchesSecret(presented, ownMetadataOf(this).secret_hashes);
  };

  // The token endpoint and the device authorization endpoint call this method as soon as a client has authenticated.
  // The method therefore also checks the other rules for the client, and throws an error if the client violates a rule.
  clientPrototype.grantTypeAllowed = function grantTypeAllowedForRequest(
    this: RegisteredClient,
    type: string,
  ): boolean {
    const allowed = isRegisteredFor.call(this, type);
    const ctx = Provider.ctx as KoaContextWithOIDC | undefined;
    // A call outside a request, or for a grant type that the request does not use, only asks whether the client is
    // registered for the grant type.
    if (!ctx || requestedGrantType(ctx) !== type) return allowed;
    const state = requestState(ctx);
    // oidc-provider may call this method again in the same request. The rate limit counts only the first call.
    if (state.rateLimitCounted) return allowed;
    state.rateLimitCounted = true;
    const waitSeconds = countTokenRequest(limit, this, ctx.ip);
    if (waitSeconds > 0) {
      ctx.set('Retry-After', String(waitSeconds));
      throw new errors.InvalidRequest('too many token requests from this client, try again later', 429);
    }
    if (!allowed) throw new errors.UnauthorizedClient('this client may not use this grant type');
    const params = ctx.oidc.params as Record<string, string | undefined>;
    if (ctx.oidc.route === 'device_authorization') {
      // oidc-provider ignores unknown scopes here. We reject them. The device gets an id_token if it requests openid.
      const requested = effectiveScopes(this, params.scope);
      checkRequestedScopes(scopes, this, { requested, issuesIdToken: true });
    }
    // Next, oidc-provider checks the parameter `scope`. It would reject repeated spaces.
    if (typeof params.scope === 'string') params.scope = normaliseScope(params.scope) || undefined;
    return true;
  };
}

function requestedGrantType({ oidc }: KoaContextWithOIDC): unknown {
  if (oidc?.route === 'device_authorization') return deviceCodeGrantType;
  return oidc?.route === 'token' ? oidc.params?.grant_type : undefined;
}
