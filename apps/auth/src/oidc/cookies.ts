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

/**
 * The name of a cookie with the path `/`. With an https issuer, the prefix makes browsers refuse a cookie of this name
 * from a sibling domain (RFC 6265bis, "The __Host- Prefix").
 */
export const hostCookieName = (issuer: string, name: string): string =>
  issuer.startsWith('https:') ? `__Host-${name}` : name;

export function createBrowserCookies(provider: () => Provider, issuer: string): BrowserCookies {
  const cookiesOf = (request: IncomingMessage, response: ServerResponse) =>
    provider().createContext(request, response).cookies;
  const fullName = (name: string): string => hostCookieName(issuer, name);
  return {
    get: (request, response, name) => cookiesOf(request, response).get(fullName(name), { signed: false }),
    set: (request, response, { name, value, maxAge }) => {
      cookiesOf(request, response).set(fullName(name), value, {
        path: '/',
        httpOnly: true,
        sameSite: 'lax',
        signed: false,
        ...(maxAge !== undefined && { maxAge: maxAge * 1000 }),
      });
    },
  };
}
