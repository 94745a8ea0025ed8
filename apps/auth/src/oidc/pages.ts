// Sends the pages that oidc-provider lets us design: errors that cannot be sent to the client, signing out, and the end
// of the sign-in for a device. interaction/provider-pages.ts renders these pages.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KoaContextWithOIDC } from 'oidc-provider';

export interface ErrorPage {
  readonly status: number;
  readonly error: string;
  readonly description: string;
  /** The name of the client that sent the request, or its `client_id` if the client is not registered. */
  readonly client?: string | undefined;
  /**
   * The address to which the request wants to redirect the browser. The client may not have registered this address, so
   * a page must show it as text and not as a link.
   */
  readonly redirectUri?: string | undefined;
}

/**
 * Returns the client and the redirect URI that the error page names. Shortens parameters to 500 characters, and ignores
 * a parameter that was sent more than once.
 */
export function requesterOf(ctx: KoaContextWithOIDC): Pick<ErrorPage, 'client' | 'redirectUri'> {
  // `oidc` is undefined if the path is not an endpoint of oidc-provider. `params` is undefined until oidc-provider has
  // read the request.
  const { client, params = {} } = ctx.oidc ?? {};
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value.slice(0, 500) : undefined);
  return {
    client: client?.clientName ?? client?.clientId ?? text(params.client_id),
    redirectUri: text(params.redirect_uri) ?? text(params.post_logout_redirect_uri),
  };
}

type RenderPage<Page> = (page: Page, request: IncomingMessage, response: ServerResponse) => Promise<string>;

export interface ProviderPages {
  readonly error: RenderPage<ErrorPage>;
  /**
   * `form` is the HTML of oidc-provider's form, which has the id `op.logoutForm` and no buttons. The page adds the
   * buttons. The button with `name=logout` and `value=yes` signs the user out.
   */
  readonly confirmSignOut: (page: { form: string; clientName: string | undefined }) => string;
  readonly signedOut: RenderPage<{ clientName: string | undefined }>;
  readonly deviceConnected: RenderPage<{ clientName: string | undefined }>;
  readonly deviceNotConnected: RenderPage<{ reason: 'denied' | 'expired' | 'failed' }>;
  /** The HTTP headers of a page. `allowExternalFormTargets`: whether a form of the page may redirect to another origin. */
  readonly headers: (options: { allowExternalFormTargets: boolean }) => Record<string, string>;
}

export function showPage(
  ctx: KoaContextWithOIDC,
  pages: Pick<ProviderPages, 'headers'>,
  html: string,
  { status = 200, allowExternalFormTargets = false }: { status?: number; allowExternalFormTargets?: boolean } = {},
): void {
  ctx.status = status;
  ctx.type = 'html';
  ctx.set(pages.headers({ allowExternalFormTargets }));
  ctx.body = html;
}
