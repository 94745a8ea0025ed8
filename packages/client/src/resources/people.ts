// Reads the names of a facility's people and clients, which the authorization server has, for the ids in histories.
import * as oauth from 'oauth4webapi';
import type { AuthorizedFetchOptions } from '../authorized-fetch.ts';
import type { RequestOptions } from '../operations.ts';
import { pathSegment, readResponse, type SendOptions, sendAttempt } from '../request.ts';
import { retry } from '../retry.ts';
import { expectSecure } from '../tokens/client-credentials.ts';

export interface FacilityPeople {
  /** Members, and everybody who ever was one. */
  readonly people: readonly {
    readonly subject: string;
    readonly name: string;
    readonly kind: 'user' | 'service';
    /** Null for a former member. */
    readonly role: 'owner' | 'staff' | 'bookings-manager' | 'facility-manager' | null;
    readonly former: boolean;
  }[];
  /** Personal access tokens, revoked ones too, and applications that members used. */
  readonly clients: readonly {
    readonly clientId: string;
    readonly name: string;
    /** The service account of a personal access token. Null for an application. */
    readonly subject: string | null;
  }[];
}

type PeopleOptions = Omit<SendOptions, 'strict'> & Omit<AuthorizedFetchOptions, 'timeoutMs'>;

export function createPeople(client: PeopleOptions) {
  const { auth, baseUrl, fetch, authorizedFetch, retryOptions, timeoutMs, allowInsecureHttp } = client;
  let issuer = 'issuer' in auth ? auth.issuer : undefined;

  const findIssuer = async (signal: AbortSignal): Promise<string> => {
    // `createBookingsClient` has checked the URL.
    const options = {
      [oauth.customFetch]: (url: string, init: object) => fetch(url, init),
      [oauth.allowInsecureRequests]: true,
      signal,
    };
    const response = await oauth.resourceDiscoveryRequest(baseUrl, options);
    const { authorization_servers: servers } = await oauth.processResourceDiscoveryResponse(baseUrl, response);
    if (!servers?.[0]) throw new Error(`${baseUrl} names no issuer: set auth.issuer`);
    expectSecure(new URL(servers[0]), allowInsecureHttp);
    return servers[0];
  };

  return async (facilityId: string, options: RequestOptions = {}): Promise<FacilityPeople> => {
    const path = `/facilities/${pathSegment('facilityId', facilityId)}/people`;
    const attempt = () =>
      sendAttempt(`GET ${path}`, { timeoutMs, ...options }, async (signal) => {
        issuer ??= await findIssuer(signal);
        const url = new URL(issuer.replace(/\/$/, '') + path);
        const headers = new Headers({ Accept: 'application/json' });
        return readResponse(await authorizedFetch(url, { method: 'GET', headers, body: undefined, signal }));
      });
    return (await retry(attempt, true, retryOptions, options.signal)).data as FacilityPeople;
  };
}
