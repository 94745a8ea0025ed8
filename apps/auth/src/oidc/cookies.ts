// Reads and writes our own browser cookies, which are not signed. The cookies are set through oidc-provider, because
// the library adds the attribute `Secure` if the issuer is an https address.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { BrowserCookies } from '../http/browser-cookies.ts';

/**
 * Returns the full name of a cookie with the path `/`. If the issuer is an https address, the full name begins with
 * `__Host-`. Browsers accept such a cookie only from this host, and not from another host of the same domain
 * (RFC 6265bis, "The __Host- Prefix").
 */
export const hostCookieName = (issuer: string, name: string): string =>
  issuer.startsWith('https:') ? `__Host-${name}` : name;

/** `provider` returns the current provider. A new one replaces it when the signing keys rotate. */
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
        // oidc-provider expects milliseconds.
        ...(maxAge !== undefined && { maxAge: maxAge * 1000 }),
      });
    },
  };
}
