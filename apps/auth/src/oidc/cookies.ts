// Reads and writes our own unsigned cookies. oidc-provider adds `Secure` if the issuer is an https address.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { BrowserCookies } from '../http/browser-cookies.ts';

/** Browsers accept `__Host-` cookies only from this host, and not from other hosts of the domain (RFC 6265bis). */
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
