// Issues and checks the CSRF tokens of our forms.
//
// A token is an HMAC of the browser's id, which is in a cookie, and of the CSRF context, such as the session. It is
// therefore invalid in another browser and for another user of the same browser.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthConfig } from '../config.ts';
import type { BrowserCookies } from '../http/browser-cookies.ts';

const cookieName = '_form';

export type CsrfTokens = ReturnType<typeof createCsrfTokens>;

/**
 * The first of COOKIE_KEYS signs tokens. Tokens of all keys are accepted, so that open pages survive a key rotation.
 * Browsers send the issuer in the header `Origin` with our own forms.
 */
export function createCsrfTokens(cookies: BrowserCookies, { cookieKeys: keys, issuer: origin }: AuthConfig) {
  const sign = (key: string, browserId: string, csrfContext: string): Buffer =>
    createHmac('sha256', key).update(`form\0${browserId}\0${csrfContext}`).digest();
  /** The id that the response gives to the browser, for each request without the cookie. All its forms use this id. */
  const newBrowserIds = new WeakMap<IncomingMessage, string>();
  /** Returns undefined if no page with a form has been sent to the browser yet. */
  const browserOf = (request: IncomingMessage, response: ServerResponse): string | undefined =>
    cookies.get(request, response, cookieName);

  return {
    browserOf,

    issue(request: IncomingMessage, response: ServerResponse, csrfContext: string): string {
      let browserId = browserOf(request, response) ?? newBrowserIds.get(request);
      if (!browserId) {
        browserId = randomBytes(24).toString('base64url');
        cookies.set(request, response, { name: cookieName, value: browserId });
        newBrowserIds.set(request, browserId);
      }
      return sign(keys[0] as string, browserId, csrfContext).toString('base64url');
    },

    isValid(request: IncomingMessage, response: ServerResponse, csrfContext: string, token: string): boolean {
      const site = request.headers['sec-fetch-site'];
      // Browsers send `none` if no page caused the request. No other site can cause such a request.
      if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
      const sent = request.headers.origin;
      // Behind a proxy that sets `Referrer-Policy: no-referrer`, browsers send the origin `null`.
      const isOpaque = sent === 'null' && site === 'same-origin';
      if (sent !== undefined && sent !== origin && !isOpaque) return false;
      const browserId = browserOf(request, response);
      if (!browserId) return false;
      const received = Buffer.from(token, 'base64url');
      return keys.some((key) => {
        const expected = sign(key, browserId, csrfContext);
        return received.length === expected.length && timingSafeEqual(received, expected);
      });
    },
  };
}
