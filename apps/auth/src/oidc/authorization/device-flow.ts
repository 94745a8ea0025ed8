// Configures the device flow of oidc-provider (RFC 8628).
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Audit } from '../../audit/audit.ts';
import { type ProviderPages, showPage } from '../pages.ts';
import { pollIntervalSeconds } from '../storage/device-codes.ts';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

export const createDeviceFlow = (pages: ProviderPages, audit: Audit): DeviceFlow => ({
  enabled: true,
  deviceInfo: () => ({}),
  successSource: async (ctx) => {
    const page = { clientName: ctx.oidc.client?.clientName };
    showPage(ctx, await pages.deviceConnected(page, ctx.req, ctx.res));
  },
  // The library's form for the code is never shown, because our own page asks for it. This is called only for errors.
  userCodeInputSource: async (ctx, _form, _out, error) => {
    avoidStoringNewSession(ctx);
    const reason = reasonOf(ctx, error);
    if (reason === 'denied') {
      const { params, session } = ctx.oidc;
      audit.record({
        kind: 'device.denied',
        // `ctx.oidc.client` is not set when the user denies the request.
        clientId: params?.client_id as string | undefined,
        accountId: session?.accountId,
        address: ctx.ip,
      });
    }
    const html = await pages.deviceNotConnected({ reason }, ctx.req, ctx.res);
    // oidc-provider uses 200 for errors that the user could correct in its form.
    showPage(ctx, html, { status: reason === 'denied' ? 200 : Math.max(400, ctx.status) });
  },
});

function reasonOf(ctx: KoaContextWithOIDC, error: Error | undefined): 'denied' | 'expired' | 'failed' {
  if (error?.name === 'AbortedError') return 'denied';
  return ctx.status < 500 ? 'expired' : 'failed';
}

/** oidc-provider would store a session for every visitor, because its form has a CSRF token. */
function avoidStoringNewSession(ctx: KoaContextWithOIDC): void {
  const session = ctx.oidc.session as { new?: boolean; accountId?: string; touched?: boolean } | undefined;
  if (session?.new && session.accountId === undefined) session.touched = false;
}

/** oidc-provider leaves `interval` out (RFC 8628 section 3.2). */
export function addPollInterval(provider: Provider): void {
  provider.on('device_authorization.success', (_ctx, body) => {
    (body as Record<string, unknown>).interval = pollIntervalSeconds;
  });
}
