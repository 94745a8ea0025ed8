// Issues and checks the CSRF tokens of our forms.
//
// A CSRF token is an HMAC of two values. The first value is the id of the browser, which is stored in a cookie. The
// second value is the CSRF context of the form, for example the session or the interaction to which the page belongs. A
// token is therefore not valid in another browser, and not valid for another user of the same browser. The prefix
// `form` distinguishes the HMAC from other uses of the key.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BrowserCookies } from '../oidc/cookies.ts';

const cookieName = '_form';

export interface CsrfTokens {
  /**
   * Returns a token for a form. Also sets the cookie with the id of the browser, if the browser does not have it yet.
   */
  readonly issue: (request: IncomingMessage, response: ServerResponse, csrfContext: string) => string;
  /** Returns the id of the browser, or undefined if no page with a form has been sent to the browser yet. */
  readonly browserOf: (request: IncomingMessage, response: ServerResponse) => string | undefined;
  /**
   * Returns whether the token is valid. Also returns false if the header `Sec-Fetch-Site` or `Origin` says that another
   * site has sent the form.
   */
  readonly isValid: (
    request: IncomingMessage,
    response: ServerResponse,
    csrfContext: string,
    token: unknown,
  ) => boolean;
}

export interface CsrfTokenOptions {
  readonly cookies: BrowserCookies;
  /**
   * The first key signs tokens. Tokens of all keys are accepted, so that the forms of open pages still work after a key
   * rotation.
   */
  readonly keys: readonly string[];
  /** The origin of this server. Browsers send it in the header `Origin` with our own forms. */
  readonly origin: string;
}

export function createCsrfTokens({ cookies, keys, origin }: CsrfTokenOptions): CsrfTokens {
  const sign = (key: string, browserId: string, csrfContext: string): Buffer =>
    createHmac('sha256', key).update(`form\0${browserId}\0${csrfContext}`).digest();
  /**
   * For each request without the cookie, the id that the response gives to the browser. All forms in the response must
   * use this id.
   */
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

    isValid(request, response, csrfContext, token) {
      const site = request.headers['sec-fetch-site'];
      // Browsers send `none` if no page caused the request. No other site can cause such a request.
      if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
      if (request.headers.origin !== undefined && request.headers.origin !== origin) return false;
      const browserId = cookies.get(request, response, cookieName);
      if (!browserId || typeof token !== 'string') return false;
      const received = Buffer.from(token, 'base64url');
      return keys.some((key) => {
        const expected = sign(key, browserId, csrfContext);
        return received.length === expected.length && timingSafeEqual(received, expected);
      });
    },
  };
}
