// Issues and checks the CSRF tokens of our forms.
// A token is an HMAC of two values. The first is a cookie that only this browser has. The second is the CSRF context of
// the form, for example the session or the interaction to which the page belongs. A token is therefore not valid in
// another browser, and not valid for another user of the same browser.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BrowserCookies } from '../oidc/cookies.ts';

const cookieName = '_form';

export interface CsrfTokens {
  /** Returns a token for a form. Also sets the cookie if the browser does not have it yet. */
  readonly issue: (request: IncomingMessage, response: ServerResponse, csrfContext: string) => string;
  /** Returns the value of the cookie, which identifies the browser. Undefined if the browser has not got a form yet. */
  readonly browserOf: (request: IncomingMessage, response: ServerResponse) => string | undefined;
  /**
   * Whether the token is valid. The result is also false if the headers `Sec-Fetch-Site` or `Origin` say that the form
   * belongs to another site.
   */
  readonly check: (request: IncomingMessage, response: ServerResponse, csrfContext: string, token: unknown) => boolean;
}

export interface CsrfTokenOptions {
  readonly cookies: BrowserCookies;
  /**
   * The first key signs tokens. Tokens of all keys are accepted, so that open forms still work after a key rotation.
   */
  readonly keys: readonly string[];
  readonly origin: string;
}

export function createCsrfTokens({ cookies, keys, origin }: CsrfTokenOptions): CsrfTokens {
  const sign = (key: string, browserId: string, csrfContext: string): Buffer =>
    createHmac('sha256', key).update(`form\0${browserId}\0${csrfContext}`).digest();
  /** The ids of browsers that get their cookie with the response to the current request. */
  const newBrowserIds = new WeakMap<IncomingMessage, string>();

  return {
    issue(request, response, csrfContext) {
      let browserId = cookies.get(request, response, cookieName) ?? newBrowserIds.get(request);
      if (!browserId) {
        browserId = randomBytes(24).toString('base64url');
        cookies.set(request, response, { name: cookieName, value: browserId });
        newBrowserIds.set(request, browserId);
      }
      return sign(keys[0] as string, browserId, csrfContext).toString('base64url');
    },

    browserOf: (request, response) => cookies.get(request, response, cookieName),

    check(request, response, csrfContext, token) {
      const site = request.headers['sec-fetch-site'];
      if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
      if (request.headers.origin !== undefined && request.headers.origin !== origin) return false;
      const browserId = cookies.get(request, response, cookieName);
      if (!browserId || typeof token !== 'string') return false;
      const given = Buffer.from(token, 'base64url');
      return keys.some((key) => {
        const expected = sign(key, browserId, csrfContext);
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
    },
  };
}
