// Issues access tokens for the grant type client_credentials (RFC 6749 section 4.4). Most requests use a personal
// access token: a client id and secret that a service account has created (specification, "Bookings API access"). Each
// personal access token is stored as a client.
import { errors, type Provider } from 'oidc-provider';
import type { Audit } from '../../audit/audit.ts';
import type { ClientStore } from '../../clients/store.ts';
import type { ScopeTable } from '../authorization/scopes.ts';
import { ownMetadataOf, type RegisteredClient } from '../clients/registered-client.ts';
import { verifyProofOfRequest } from '../tokens/dpop.ts';
import { requestedFacilities, selectFacilities } from '../tokens/facilities-claim.ts';
import type { ResourceServer } from '../tokens/resource-server.ts';
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
   * no proof. Left out by endpoints/plain-client-credentials.ts, which serves only requests without a proof.
   */
  readonly verifyProof?: () => Promise<string | undefined>;
}

export type ClientCredentials = ReturnType<typeof createClientCredentials>;

export function createClientCredentials({ scopes, resource, clients, audit }: ClientCredentialsOptions) {
  /**
   * Returns the value of the claim `facilities` of the new token. Only a personal access token belongs to an account.
   * For any other client, the claim is an empty list, and the access token gives access to no facility.
   * @throws {errors.InvalidScope} if the account has no role at any facility
   * @throws {errors.InvalidRequest} if the account has no role at a requested facility, or if the claim would be too
   *   long (see `selectFacilities`)
   */
  const facilitiesClaim = (client: RegisteredClient, requested: readonly string[]): readonly string[] => {
    const { account_id: accountId, facility_ids: facilitiesOfAccount = [] } = ownMetadataOf(client);
    if (accountId === undefined) return [];
    const facilities = selectFacilities(facilitiesOfAccount, requested);
    if (facilities.length > 0) return facilities;
    throw new errors.InvalidScope('the account has no role at any facility', scopes.bookings);
  };

  /**
   * Issues the token and records it in the audit trail. Returns the body of the response.
   * @throws {errors.UnauthorizedClient} if the client is a driving-range client
   * @throws {errors.InvalidScope} if the request has no scope, the client may not have the scope, or its account has no
   *   facility
   * @throws {errors.InvalidRequest} if the requested facilities are not valid
   * @throws the errors of `request.verifyProof`
   */
  const issue = async (provider: Provider, request: ClientCredentialsRequest) => {
    const { client, address } = request;
    const { kind, account_id: accountId } = ownMetadataOf(client);
    // The specification does not allow this grant type to these clients ("Client credentials flow").
    if (kind === 'driving-range') {
      throw new errors.UnauthorizedClient('driving-range clients may not use client_credentials');
    }
    const requested = resolveTokenScopes(scopes, client, request.scope, { issuesRefreshTokens: false });
    const scope = requested.join(' ');
    // oidc-provider adds the members of `extra` to the claims of the token.
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
    // `recordUse` writes in the background, and the response does not wait for it.
    if (kind === 'personal-access-token') clients.recordUse(client.clientId, address);
    return body;
  };

  return {
    issue,

    /**
     * Replaces oidc-provider's handler of this grant type. If the scope is unknown or missing, this handler rejects the
     * request. The library's handler would issue a useless token without scopes.
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
        // The parameters that oidc-provider puts into `params`. The handler above reads `facility` from the body.
        ['scope'],
      );
    },
  };
}
