// client_credentials: a machine asks for itself, most often with a personal access token of a service account (specification,
// "Bookings API access"; RFC 6749 section 4.4). Registered over the library's own handler, which would answer an unknown or missing
// scope with a token that can do nothing.
import { errors, type Provider } from 'oidc-provider';
import type { ClientStore } from '../../clients/store.ts';
import type { AccessTokenRules } from '../access-token-claims.ts';
import { allowedScopes, effectiveScopes, ownMetadataOf, type RegisteredClient } from '../registered-client.ts';
import type { ResourceServer } from '../resource-server.ts';
import { findScopeError, type ScopeTable } from '../scopes.ts';

export interface ClientCredentialsOptions {
  readonly scopes: ScopeTable;
  readonly resource: ResourceServer;
  readonly rules: AccessTokenRules;
  readonly clients: Pick<ClientStore, 'recordUse'>;
}

export async function issueToMachine(
  provider: Provider,
  resource: ResourceServer,
  client: RegisteredClient,
  scopes: readonly string[],
) {
  const token = new provider.ClientCredentials({ client, scope: scopes.join(' ') });
  token.resourceServer = new provider.ResourceServer(resource.audience, resource.info(scopes));
  return {
    access_token: await token.save(),
    expires_in: token.expiration,
    token_type: token.tokenType,
    scope: token.scope,
  };
}

export function registerClientCredentials(provider: Provider, options: ClientCredentialsOptions): void {
  const { scopes, resource, rules, clients } = options;
  provider.registerGrantType(
    'client_credentials',
    async (ctx) => {
      const { client, params } = ctx.oidc;
      const { kind, account_id: accountId } = ownMetadataOf(client);
      if (kind === 'driving-range') {
        throw new errors.UnauthorizedClient('driving-range clients may not use client_credentials');
      }
      const requested = effectiveScopes(client, params.scope, false);
      const fault = findScopeError(scopes, { requested, allowed: allowedScopes(client), issuesIdToken: false });
      if (fault) throw new errors.InvalidScope(fault.description, fault.scope);
      if (accountId !== undefined && requested.includes(scopes.bookings)) {
        const facilities = await rules.facilitiesFor(ctx, accountId);
        if (facilities.length === 0) {
          throw new errors.InvalidScope('the account has no role at any facility', scopes.bookings);
        }
      }
      ctx.body = await issueToMachine(provider, resource, client, requested);
      if (kind === 'personal-access-token') clients.recordUse(client.clientId, ctx.ip);
    },
    ['scope'],
  );
}
