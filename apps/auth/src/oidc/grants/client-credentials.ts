// Issues access tokens to clients that act on their own behalf: the grant client_credentials (RFC 6749 section 4.4).
// Most of them are personal access tokens of service accounts (specification, "Bookings API access").
import { errors, type Provider } from 'oidc-provider';
import type { Audit } from '../../audit/audit.ts';
import type { ClientStore } from '../../clients/store.ts';
import { bindToProof } from '../dpop.ts';
import { requestedFacilities, selectFacilities } from '../facilities-claim.ts';
import { ownMetadataOf, type RegisteredClient } from '../registered-client.ts';
import type { ResourceServer } from '../resource-server.ts';
import type { ScopeTable } from '../scopes.ts';
import { checkScopes } from './scopes.ts';

export interface ClientCredentialsOptions {
  readonly scopes: ScopeTable;
  readonly resource: ResourceServer;
  readonly clients: Pick<ClientStore, 'recordUse'>;
  readonly audit: Audit;
}

/** A request of a client that has authenticated, and that the rate limit has counted. */
export interface ClientCredentialsRequest {
  readonly client: RegisteredClient;
  readonly scope: string | undefined;
  /** The facilities that the request selects; none selects all facilities of the account. */
  readonly facilities: readonly string[];
  /** The IP address that sent the request. */
  readonly address: string;
  /** Binds the token to a key (../dpop.ts). */
  readonly bind?: (token: InstanceType<Provider['ClientCredentials']>) => Promise<unknown>;
}

export type ClientCredentials = ReturnType<typeof createClientCredentials>;

export function createClientCredentials({ scopes, resource, clients, audit }: ClientCredentialsOptions) {
  /** @throws {errors.InvalidScope | errors.InvalidRequest} */
  const facilitiesClaim = (client: RegisteredClient, named: readonly string[]): readonly string[] => {
    const { account_id: accountId, facility_ids: ids = [] } = ownMetadataOf(client);
    if (accountId === undefined) return [];
    const facilities = selectFacilities(ids, named);
    if (facilities.length > 0) return facilities;
    throw new errors.InvalidScope('the account has no role at any facility', scopes.bookings);
  };

  /**
   * Issues the token and records it in the audit trail. Returns the body of the response.
   * @throws {errors.UnauthorizedClient | errors.InvalidScope | errors.InvalidRequest}
   */
  const issue = async (provider: Provider, request: ClientCredentialsRequest) => {
    const { client, address } = request;
    const { kind, account_id: accountId } = ownMetadataOf(client);
    if (kind === 'driving-range') {
      throw new errors.UnauthorizedClient('driving-range clients may not use client_credentials');
    }
    const requested = checkScopes(scopes, client, request.scope, { issuesRefreshTokens: false });
    const scope = requested.join(' ');
    const extra = requested.includes(scopes.bookings)
      ? { facilities: facilitiesClaim(client, request.facilities) }
      : undefined;

    const token = new provider.ClientCredentials({ client, scope, extra });
    token.resourceServer = new provider.ResourceServer(resource.audience, resource.info(requested));
    await request.bind?.(token);
    const body = {
      access_token: await token.save(),
      expires_in: token.expiration,
      token_type: token.tokenType,
      scope,
    };
    const detail = { grantType: 'client_credentials', scope };
    audit.record({ kind: 'token.issued', clientId: client.clientId, accountId, address, detail });
    if (kind === 'personal-access-token') clients.recordUse(client.clientId, address);
    return body;
  };

  return {
    issue,

    /** Replaces the library's own grant, which issues a useless token if the scope is unknown or missing. */
    register(provider: Provider): void {
      provider.registerGrantType(
        'client_credentials',
        async (ctx) => {
          const { client, params } = ctx.oidc;
          const facilities = requestedFacilities(ctx);
          ctx.body = await issue(provider, {
            client,
            scope: params.scope,
            facilities,
            address: ctx.ip,
            bind: (token) => bindToProof(provider, ctx, token),
          });
        },
        ['scope'],
      );
    },
  };
}
