// Reads and writes our own unsigned browser cookies through oidc-provider, which marks them `Secure` when the issuer
// is https.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';

export interface BrowserCookies {
  readonly get: (request: IncomingMessage, response: ServerResponse, name: string) => string | undefined;
  /** Without `maxAge` (seconds) the cookie ends with the browser session. */
  readonly set: (
    request: IncomingMessage,
    response: ServerResponse,
    cookie: { name: string; value: string; maxAge?: number },
  ) => void;
}

export function createBrowserCookies(provider: () => Provider): BrowserCookies {
  const cookiesOf = (request: IncomingMessage, response: ServerResponse) =>
    provider().createContext(request, response).cookies;
  return {
    get: (request, response, name) => cookiesOf(request, response).get(name, { signed: false }),
    set: (request, response, { name, value, maxAge }) => {
      cookiesOf(request, response).set(name, value, {
        path: '/',
        httpOnly: true,
        sameSite: 'lax',
        signed: false,
        ...(maxAge !== undefined && { maxAge: maxAge * 1000 }),
      });
    },
  };
}
