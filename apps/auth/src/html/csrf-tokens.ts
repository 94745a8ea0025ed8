// Issues and checks the CSRF tokens of our forms.
// A token is an HMAC over a cookie that only this browser has and over the CSRF context of the form: the interaction or
// session for which the page was made. A token is therefore useless in another browser, and for another user of the
// same browser.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BrowserCookies } from '../oidc/cookies.ts';

const cookieName = '_form';

export interface CsrfTokens {
  /** Sets the cookie if the browser does not have it yet. */
  readonly issue: (request: IncomingMessage, response: ServerResponse, csrfContext: string) => string;
  /** Identifies the browser. Undefined if it has not been given a form yet. */
  readonly browserOf: (request: IncomingMessage, response: ServerResponse) => string | undefined;
  /** False also when the browser itself reports that another site sent the form (`Sec-Fetch-Site`, `Origin`). */
  readonly check: (request: IncomingMessage, response: ServerResponse, csrfContext: string, token: unknown) => boolean;
}

export interface CsrfTokenOptions {
  readonly cookies: BrowserCookies;
  /** The first key signs and every key is accepted, so that open forms survive a key rotation. */
  readonly keys: readonly string[];
  readonly origin: string;
}

export function createCsrfTokens({ cookies, keys, origin }: CsrfTokenOptions): CsrfTokens {
  const sign = (key: string, browserId: string, csrfContext: string): Buffer =>
    createHmac('sha256', key).update(`form\0${browserId}\0${csrfContext}`).digest();
  /** Browsers that get their cookie with the response to this request. */
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
