// Configures the device flow of oidc-provider (RFC 8628): the last page of the sign-in for a device, and the polling
// interval in the response to the device.
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Audit } from '../../audit/audit.ts';
import { type ProviderPages, showPage } from '../pages.ts';
import { pollIntervalSeconds } from '../storage/device-codes.ts';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

/** Returns the setting `features.deviceFlow` of oidc-provider. */
export const createDeviceFlow = ({ pages, audit }: { pages: ProviderPages; audit: Audit }): DeviceFlow => ({
  enabled: true,
  // By default, oidc-provider stores the IP address and the user agent of the device. We do not need them.
  deviceInfo: () => ({}),
  successSource: async (ctx) => {
    const page = { clientName: ctx.oidc.client?.clientName };
    showPage(ctx, pages, await pages.deviceConnected(page, ctx.req, ctx.res));
  },
  // oidc-provider calls this function to show its form for the code, or an error of the device flow. Here, the function
  // is called only for errors, because our own page asks for the code (interaction/device-pages.ts).
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
    // oidc-provider has set the status 200 for errors that the user could correct in its form. Our page has no form, so
    // these errors get the status 400.
    showPage(ctx, pages, html, { status: reason === 'denied' ? 200 : Math.max(400, ctx.status) });
  },
});

function reasonOf(ctx: KoaContextWithOIDC, error: Error | undefined): 'denied' | 'expired' | 'failed' {
  // oidc-provider throws this error if the user denies the request.
  if (error?.name === 'AbortedError') return 'denied';
  return ctx.status < 500 ? 'expired' : 'failed';
}

/**
 * Prevents oidc-provider from storing a session for every visitor. The library has put the CSRF token of its form into
 * the session, and would store the session for that reason alone.
 */
function avoidStoringNewSession(ctx: KoaContextWithOIDC): void {
  const session = ctx.oidc.session as { new?: boolean; accountId?: string; touched?: boolean } | undefined;
  if (session?.new && session.accountId === undefined) session.touched = false;
}

/** Adds `interval` to the response to the device (RFC 8628 section 3.2), because oidc-provider leaves it out. */
export function addPollInterval(provider: Provider): void {
  provider.on('device_authorization.success', (_ctx, body) => {
    (body as Record<string, unknown>).interval = pollIntervalSeconds;
  });
}
