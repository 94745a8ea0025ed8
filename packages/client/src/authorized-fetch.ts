// Sends requests with an access token and repeats a request once with a new token after a 401.
import * as oauth from 'oauth4webapi';
import { BookingsTokenError, requiresStepUp } from './errors.ts';
import type { BookingsClientOptions, GetAccessToken } from './options.ts';
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

interface Authorization {
  readonly tokens: TokenSource;
  /** Undefined for Bearer tokens. */
  readonly dpop: oauth.DPoPHandle | undefined;
}

export function createAuthorizedFetch(options: AuthorizedFetchOptions): AuthorizedFetch {
  let authorization: Promise<Authorization> | undefined;
  return async (url, request) => {
    authorization ??= createAuthorization(options);
    const { tokens, dpop } = await authorization;
    const send = (token: string) =>
      dpop ? sendDpop(token, dpop, url, request, options.fetch) : sendBearer(token, url, request, options.fetch);
    const token = await waitFor(tokens(), request.signal);
    const response = await send(token);
    // The response asks for a new sign-in, which a new token of the same sign-in is not.
    if (response.status !== 401 || requiresStepUp(response)) return response;
    // The service has rejected `token`, so the source returns a new token if it can.
    const newToken = await waitFor(tokens(token), request.signal);
    if (newToken === token) return response;
    await response.body?.cancel();
    return send(newToken);
  };
}

async function createAuthorization(options: AuthorizedFetchOptions): Promise<Authorization> {
  const { auth } = options;
  if (typeof auth === 'function') return { tokens: fromFunction(auth), dpop: undefined };
  const keyPair = auth.dpop === true ? await oauth.generateKeyPair('ES256') : auth.dpop;
  // `oauth.DPoP` needs no client: the client's clock needs no correction.
  const dpop = keyPair ? oauth.DPoP({}, keyPair) : undefined;
  if ('getAccessToken' in auth) return { tokens: fromFunction(auth.getAccessToken), dpop };
  return { tokens: createTokenSource(createTokenRequest(auth, { ...options, dpop })), dpop };
}

type Fetch = typeof globalThis.fetch;

function sendBearer(token: string, url: URL, { method, headers, body, signal }: ApiRequest, fetch: Fetch) {
  const withToken = new Headers(headers);
  withToken.set('Authorization', `Bearer ${token}`);
  // A redirect could send the token to another host. `protectedResourceRequest` below does not follow redirects
  // either.
  return fetch(url, { method, headers: withToken, body: body ?? null, signal, redirect: 'manual' });
}

async function sendDpop(token: string, dpop: oauth.DPoPHandle, url: URL, request: ApiRequest, fetch: Fetch) {
  const { method, headers, body, signal } = request;
  try {
    return await oauth.protectedResourceRequest(token, method, url, new Headers(headers), body ?? null, {
      DPoP: dpop,
      signal,
      [oauth.customFetch]: (address: string, init: object) => fetch(address, init),
      // `createBookingsClient` has checked the URL.
      [oauth.allowInsecureRequests]: true,
    });
  } catch (error) {
    // oauth4webapi throws for a 401 with WWW-Authenticate. This client handles a 401 as an ordinary response.
    if (error instanceof oauth.WWWAuthenticateChallengeError) return error.response;
    throw error;
  }
}

const fromFunction =
  (getAccessToken: GetAccessToken): TokenSource =>
  async (rejectedToken) => {
    try {
      return await getAccessToken({ renew: rejectedToken !== undefined });
    } catch (cause) {
      throw new BookingsTokenError('The function that returns access tokens failed', { cause });
    }
  };
