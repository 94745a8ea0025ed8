// Configures the device flow of oidc-provider (RFC 8628): the last page of the sign-in for a device, and the polling
// interval in the response to the device.
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Audit } from '../audit/audit.ts';
import { type ProviderPages, showPage } from './pages.ts';
import { pollInterval } from './storage/device-codes.ts';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

/** Returns the setting `features.deviceFlow` of the configuration. */
export const createDeviceFlow = ({ pages, audit }: { pages: ProviderPages; audit: Audit }): DeviceFlow => ({
  enabled: true,
  // By default, the library stores the IP address and the user agent of the device. We do not need them.
  deviceInfo: () => ({}),
  successSource: async (ctx) => {
    const page = { clientName: ctx.oidc.client?.clientName };
    showPage(ctx, await pages.deviceConnected(page, ctx.req, ctx.res));
  },
  // The library calls this function to show its form for the code, or an error of the sign-in. Only errors happen here,
  // because our own page asks for the code (interaction/device-pages.ts).
  userCodeInputSource: async (ctx, _form, _out, error) => {
    avoidStoringNewSession(ctx);
    const isDenied = error?.name === 'AbortedError';
    if (isDenied) {
      const { params, session } = ctx.oidc;
      audit.record({
        kind: 'device.denied',
        // `ctx.oidc.client` is not set when the user cancels.
        clientId: params?.client_id as string | undefined,
        accountId: session?.accountId,
        address: ctx.ip,
      });
    }
    const reason = isDenied ? 'denied' : ctx.status < 500 ? 'expired' : 'failed';
    const html = await pages.deviceNotConnected({ reason }, ctx.req, ctx.res);
    // For an error that the user can correct, the library has set the status 200.
    showPage(ctx, html, { status: isDenied ? 200 : Math.max(400, ctx.status) });
  },
});

/**
 * Prevents that a session is stored for every visitor. The library has put the CSRF token of its form into the session,
 * and would store the session for that reason alone.
 */
function avoidStoringNewSession(ctx: KoaContextWithOIDC): void {
  const session = ctx.oidc.session as { new?: boolean; accountId?: string; touched?: boolean } | undefined;
  if (session?.new && session.accountId === undefined) session.touched = false;
}

/** Adds `interval` (RFC 8628 section 3.2) to the response, where the library leaves it out. */
export function addPollInterval(provider: Provider): void {
  provider.on('device_authorization.success', (_ctx, body) => {
    (body as Record<string, unknown>).interval = pollInterval;
  });
}
