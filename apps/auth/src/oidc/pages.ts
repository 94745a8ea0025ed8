// Shows the pages that the protocol itself needs: errors that cannot be sent to the client, signing out, and the end of
// the sign-in of a device. interaction/provider-pages.ts renders them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { pageHeaders } from '../html/response-headers.ts';

export interface ErrorPage {
  readonly status: number;
  readonly error: string;
  readonly description: string;
  /** Name of the client that made the request, or the `client_id` that it sent if that client is not registered. */
  readonly client?: string | undefined;
  /** The address to which the client wants the browser to return. It may not be registered: show it only as text. */
  readonly redirectUri?: string | undefined;
}

/** Reads from the request who made it. Parameters that were sent twice are not read. */
export function requesterOf(ctx: KoaContextWithOIDC): Pick<ErrorPage, 'client' | 'redirectUri'> {
  // `oidc` is missing for a path that is not an endpoint, and `params` until the endpoint has read them.
  const { client, params = {} } = ctx.oidc ?? {};
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value.slice(0, 500) : undefined);
  return {
    client: client?.clientName ?? client?.clientId ?? text(params.client_id),
    redirectUri: text(params.redirect_uri) ?? text(params.post_logout_redirect_uri),
  };
}

/** Each function returns HTML. */
export interface ProviderPages {
  readonly error: (page: ErrorPage, request: IncomingMessage, response: ServerResponse) => Promise<string>;
  /**
   * `form` is the library's form with the id `op.logoutForm` and without buttons. The page adds them; the button with
   * `name=logout value=yes` signs out.
   */
  readonly confirmSignOut: (page: { form: string; clientName: string | undefined }) => string;
  readonly signedOut: (
    page: { clientName: string | undefined },
    request: IncomingMessage,
    response: ServerResponse,
  ) => Promise<string>;
  readonly deviceConnected: (
    page: { clientName: string | undefined },
    request: IncomingMessage,
    response: ServerResponse,
  ) => Promise<string>;
  /** The sign-in of a device has failed, or the user did not allow it. */
  readonly deviceNotConnected: (
    page: { reason: 'denied' | 'expired' | 'failed' },
    request: IncomingMessage,
    response: ServerResponse,
  ) => Promise<string>;
}

/** Sends a page. `allowExternalFormTargets` lets its form end at an address of the client. */
export function showPage(
  ctx: KoaContextWithOIDC,
  html: string,
  { status = 200, allowExternalFormTargets = false }: { status?: number; allowExternalFormTargets?: boolean } = {},
): void {
  ctx.status = status;
  ctx.type = 'html';
  ctx.set(pageHeaders({ allowExternalFormTargets }));
  ctx.body = html;
}

/**
 * Headers of the documents that the library writes itself. They contain a form that an inline script submits; the
 * library adds the hash of that script to `script-src`. There is no `form-action`, because the form is submitted to
 * the client.
 */
export const libraryDocumentHeaders = {
  'Content-Security-Policy': "default-src 'none'; script-src; frame-ancestors 'none'; base-uri 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
} as const;
