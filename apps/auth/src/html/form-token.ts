// Did this form come from a page of ours, in this browser? A cookie that only this browser has, and in the form an HMAC over it and over
// what the form belongs to (an interaction, a session). Other sites' posts are refused by the browser's own words, too.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BrowserCookies } from '../oidc/cookies.ts';

const cookieName = '_form';

export interface FormTokens {
  /** Gives the browser its cookie if it has none. */
  readonly issue: (request: IncomingMessage, response: ServerResponse, csrfContext: string) => string;
  readonly check: (request: IncomingMessage, response: ServerResponse, csrfContext: string, token: unknown) => boolean;
}

export interface FormTokenOptions {
  readonly cookies: BrowserCookies;
  /** The first makes tokens, all are accepted: so keys rotate without breaking an open form. */
  readonly keys: readonly string[];
  readonly origin: string;
}

export function createFormTokens({ cookies, keys, origin }: FormTokenOptions): FormTokens {
  const sign = (key: string, browser: string, csrfContext: string): Buffer =>
    createHmac('sha256', key).update(`form\0${browser}\0${csrfContext}`).digest();
  const issued = new WeakMap<IncomingMessage, string>();

  return {
    issue(request, response, csrfContext) {
      let browser = cookies.get(request, response, cookieName) ?? issued.get(request);
      if (!browser) {
        browser = randomBytes(24).toString('base64url');
        cookies.set(request, response, { name: cookieName, value: browser });
        issued.set(request, browser);
      }
      return sign(keys[0] as string, browser, csrfContext).toString('base64url');
    },

    check(request, response, csrfContext, token) {
      const site = request.headers['sec-fetch-site'];
      if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
      if (request.headers.origin !== undefined && request.headers.origin !== origin) return false;
      const browser = cookies.get(request, response, cookieName);
      if (!browser || typeof token !== 'string') return false;
      const given = Buffer.from(token, 'base64url');
      return keys.some((key) => {
        const right = sign(key, browser, csrfContext);
        return given.length === right.length && timingSafeEqual(given, right);
      });
    },
  };
}
