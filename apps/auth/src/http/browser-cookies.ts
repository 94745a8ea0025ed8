// Defines how pages read and write cookies. oidc/sessions.ts sets them through oidc-provider.
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface BrowserCookies {
  readonly get: (request: IncomingMessage, response: ServerResponse, name: string) => string | undefined;
  /** `maxAge` is in seconds. If it is left out, the browser deletes the cookie when it is closed. */
  readonly set: (
    request: IncomingMessage,
    response: ServerResponse,
    cookie: { name: string; value: string; maxAge?: number },
  ) => void;
}
