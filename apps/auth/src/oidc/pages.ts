// Sends the pages that oidc-provider lets us design. interaction/provider-pages.ts renders them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { pageHeaders } from '../html/response-headers.ts';
import { homePageOf } from './clients/registered-client.ts';

export interface ErrorPage {
  readonly status: number;
  readonly error: string;
  readonly description: string;
  readonly client?: string | undefined;
  readonly homePage?: string | undefined;
  /** Possibly not registered, so a page must show it as text and not as a link. */
  readonly redirectUri?: string | undefined;
}

export async function requesterOf(
  ctx: KoaContextWithOIDC,
): Promise<Pick<ErrorPage, 'client' | 'homePage' | 'redirectUri'>> {
  // `oidc` is undefined outside the endpoints of oidc-provider, and `params` until it has read the request.
  const { params = {}, entities, provider } = ctx.oidc ?? {};
  const interrupted = entities?.Interaction?.params.client_id;
  const client =
    ctx.oidc?.client ??
    (interrupted === undefined ? undefined : await provider.Client.find(String(interrupted)).catch(() => undefined));
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value.slice(0, 500) : undefined);
  return {
    client: client?.clientName ?? client?.clientId ?? text(params.client_id),
    homePage: client && homePageOf(client),
    redirectUri: text(params.redirect_uri) ?? text(params.post_logout_redirect_uri),
  };
}

type RenderPage<Page> = (page: Page, request: IncomingMessage, response: ServerResponse) => Promise<string>;

export interface ProviderPages {
  readonly error: RenderPage<ErrorPage>;
  /** The page adds the buttons to `form`. `name=logout` with `value=yes` signs the user out. */
  readonly confirmSignOut: (page: { form: string; clientName: string | undefined }) => string;
  readonly signedOut: RenderPage<{ clientName: string | undefined }>;
  readonly deviceConnected: RenderPage<{ clientName: string | undefined }>;
  readonly deviceNotConnected: RenderPage<{ reason: 'denied' | 'expired' | 'failed' }>;
}

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
