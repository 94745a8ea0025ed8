// Issues access tokens for the grant type client_credentials (RFC 6749 section 4.4). Most clients that use this grant
// type are personal access tokens of service accounts (specification, "Bookings API access").
import { errors, type Provider } from 'oidc-provider';
import type { Audit } from '../../audit/audit.ts';
import type { ClientStore } from '../../clients/store.ts';
import { verifyProofOfRequest } from '../dpop.ts';
import { requestedFacilities, selectFacilities } from '../facilities-claim.ts';
import { ownMetadataOf, type RegisteredClient } from '../registered-client.ts';
import type { ResourceServer } from '../resource-server.ts';
import type { ScopeTable } from '../scopes.ts';
import { resolveTokenScopes } from './scopes.ts';

export interface ClientCredentialsOptions {
  readonly scopes: ScopeTable;
  readonly resource: ResourceServer;
  readonly clients: Pick<ClientStore, 'recordUse'>;
  readonly audit: Audit;
}

/** A token request whose client has authenticated, and which the rate limit has counted. */
export interface ClientCredentialsRequest {
  readonly client: RegisteredClient;
  readonly scope: string | undefined;
  /** The facilities that the request selects. If the list is empty, all facilities of the account are selected. */
  readonly facilities: readonly string[];
  /** The IP address that sent the request. */
  readonly address: string;
  /**
   * Verifies the DPoP proof of the request. Resolves to the thumbprint of its key, or to undefined if the request has
   * no proof. Left out if the request cannot have a proof.
   */
  readonly verifyProof?: () => Promise<string | undefined>;
}

export type ClientCredentials = ReturnType<typeof createClientCredentials>;

export function createClientCredentials({ scopes, resource, clients, audit }: ClientCredentialsOptions) {
  /**
   * Returns the value of the claim `facilities` of the new token. It is empty if the client belongs to no account.
   * @throws {errors.InvalidScope} if the account has no role at any facility
   * @throws {errors.InvalidRequest} if the account has no role at a requested facility, or if the claim would be too
   * long
   */
  const facilitiesClaim = (client: RegisteredClient, requested: readonly string[]): readonly string[] => {
    const { account_id: accountId, facility_ids: ids = [] } = ownMetadataOf(client);
    if (accountId === undefined) return [];
    const facilities = selectFacilities(ids, requested);
    if (facilities.length > 0) return facilities;
    throw new errors.InvalidScope('the account has no role at any facility', scopes.bookings);
  };

  /**
   * Issues the token and records it in the audit trail. Returns the body of the response.
   * @throws {errors.UnauthorizedClient} if the client is a driving-range client
   * @throws {errors.InvalidScope} if the client may not have the scope, or its account has no facility
   * @throws {errors.InvalidRequest} if the requested facilities are not valid
   */
  const issue = async (provider: Provider, request: ClientCredentialsRequest) => {
    const { client, address } = request;
    const { kind, account_id: accountId } = ownMetadataOf(client);
    if (kind === 'driving-range') {
      throw new errors.UnauthorizedClient('driving-range clients may not use client_credentials');
    }
    const requested = resolveTokenScopes(scopes, client, request.scope, { issuesRefreshTokens: false });
    const scope = requested.join(' ');
    const extra = requested.includes(scopes.bookings)
      ? { facilities: facilitiesClaim(client, request.facilities) }
      : undefined;

    const token = new provider.ClientCredentials({ client, scope, extra });
    token.resourceServer = new provider.ResourceServer(resource.audience, resource.info(requested));
    const jkt = await request.verifyProof?.();
    if (jkt !== undefined) token.setThumbprint('jkt', jkt);
    const body = {
      access_token: await token.save(),
      expires_in: token.expiration,
      token_type: token.tokenType,
      scope,
    };
    const detail = { grantType: 'client_credentials', scope };
    audit.record({ kind: 'token.issued', clientId: client.clientId, accountId, address, detail });
    // The function writes in the background, and the response does not wait for it.
    if (kind === 'personal-access-token') clients.recordUse(client.clientId, address);
    return body;
  };

  return {
    issue,

    /**
     * Replaces the library's handler of this grant type. If the scope is unknown or missing, the library's handler
     * would issue a token without scopes, which has no use.
     */
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
            verifyProof: () => verifyProofOfRequest(provider, ctx),
          });
        },
        // The parameters that the library passes in `params`. `requestedFacilities` reads the body itself.
        ['scope'],
      );
    },
  };
}
