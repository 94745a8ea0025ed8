// Sends requests with an access token, and repeats a request once with a new token after a 401.
import * as oauth from 'oauth4webapi';
import { BookingsTokenError } from './errors.ts';
import type { BookingsClientOptions, ClientCredentials, GetAccessToken } from './options.ts';
import { waitFor } from './timeout.ts';
import { createTokenRequest } from './tokens/client-credentials.ts';
import { createTokenSource, type TokenSource } from './tokens/token-source.ts';

export interface ApiRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

export type AuthorizedFetch = (url: URL, request: ApiRequest) => Promise<Response>;

export type AuthorizedFetchOptions = Required<
  Pick<BookingsClientOptions, 'auth' | 'fetch' | 'timeoutMs' | 'allowInsecureHttp'>
> & { readonly baseUrl: URL };

export function createAuthorizedFetch(options: AuthorizedFetchOptions): AuthorizedFetch {
  const { auth } = options;
  if (typeof auth === 'function') return repeatAfter401(fromFunction(auth), sendBearer(options.fetch));
  // The first argument of `oauth.DPoP` is empty, because the clock of the client needs no correction.
  if ('getAccessToken' in auth)
    return repeatAfter401(fromFunction(auth.getAccessToken), sendDpop(options, oauth.DPoP({}, auth.dpop)));
  return withClientCredentials(auth, options);
}

function withClientCredentials(credentials: ClientCredentials, options: AuthorizedFetchOptions): AuthorizedFetch {
  /** Undefined until the first request, because `create` may have to generate a key. */
  let authorizedFetch: Promise<AuthorizedFetch> | undefined;
  const create = async (): Promise<AuthorizedFetch> => {
    const keyPair = credentials.dpop === true ? await oauth.generateKeyPair('ES256') : credentials.dpop;
    const dpop = keyPair ? oauth.DPoP({}, keyPair) : undefined;
    const source = createTokenSource(createTokenRequest(credentials, { ...options, dpop }));
    return repeatAfter401(source, dpop ? sendDpop(options, dpop) : sendBearer(options.fetch));
  };
  return async (url, request) => {
    authorizedFetch ??= create();
    return (await authorizedFetch)(url, request);
  };
}

type SendWithToken = (token: string, url: URL, request: ApiRequest) => Promise<Response>;

function repeatAfter401(source: TokenSource, send: SendWithToken): AuthorizedFetch {
  return async (url, request) => {
    const token = await waitFor(source(), request.signal);
    const response = await send(token, url, request);
    if (response.status !== 401) return response;
    // The service has rejected `token`, so the source returns a new token if it can.
    const newToken = await waitFor(source(token), request.signal);
    if (newToken === token) return response;
    await response.body?.cancel();
    return send(newToken, url, request);
  };
}

const sendBearer =
  (fetch: typeof globalThis.fetch): SendWithToken =>
  (token, url, { method, headers, body, signal }) => {
    const withToken = new Headers(headers);
    withToken.set('Authorization', `Bearer ${token}`);
    // A redirect could send the token to another host. `protectedResourceRequest` below does not follow redirects
    // either.
    return fetch(url, { method, headers: withToken, body: body ?? null, signal, redirect: 'manual' });
  };

const sendDpop =
  ({ fetch }: AuthorizedFetchOptions, dpop: oauth.DPoPHandle): SendWithToken =>
  (token, url, { method, headers, body, signal }) =>
    oauth
      .protectedResourceRequest(token, method, url, new Headers(headers), body ?? null, {
        DPoP: dpop,
        signal,
        [oauth.customFetch]: (address: string, init: object) => fetch(address, init),
        // createBookingsClient has checked the address.
        [oauth.allowInsecureRequests]: true,
      })
      // oauth4webapi throws for a 401 with WWW-Authenticate. This client handles a 401 as an ordinary response.
      .catch((error) => {
        if (error instanceof oauth.WWWAuthenticateChallengeError) return error.response;
        throw error;
      });

const fromFunction =
  (getAccessToken: GetAccessToken): TokenSource =>
  async (rejectedToken) => {
    try {
      return await getAccessToken({ renew: rejectedToken !== undefined });
    } catch (cause) {
      throw new BookingsTokenError('The function that returns access tokens failed', { cause });
    }
  };
