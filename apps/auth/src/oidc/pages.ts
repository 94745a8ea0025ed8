// What does a person see when the protocol itself has to speak: an error that cannot be redirected, and signing out. Plain pages that
// load nothing; the application hands in its own.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { pageHeaders } from '../html/response-headers.ts';

export interface ErrorPage {
  readonly status: number;
  readonly error: string;
  readonly description: string;
}

export interface ProviderPages {
  readonly error: (facts: ErrorPage, request: IncomingMessage, response: ServerResponse) => Promise<string>;
  /** `form` is the library's form (id `op.logoutForm`), to which the page adds its buttons: `name=logout value=yes` signs out. */
  readonly confirmSignOut: (facts: { form: string; clientName: string | undefined }) => string;
  readonly signedOut: (
    facts: { clientName: string | undefined },
    request: IncomingMessage,
    response: ServerResponse,
  ) => Promise<string>;
}

/** Shows `html` with a policy that lets it load nothing from elsewhere. */
export function showPage(ctx: KoaContextWithOIDC, html: string, status = 200, allowExternalFormTargets = false): void {
  ctx.status = status;
  ctx.type = 'html';
  ctx.set(pageHeaders({ allowExternalFormTargets }));
  ctx.body = html;
}

/**
 * For the documents that the library writes itself, which send themselves on by an inline script: it adds that script's hash here. No
 * `form-action`, since they are sent to the client.
 */
export const documentHeaders = {
  'Content-Security-Policy': "default-src 'none'; script-src; frame-ancestors 'none'; base-uri 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
} as const;
