// Configures the device flow of oidc-provider (RFC 8628): the pages with which the sign-in of a device ends, and the
// polling interval in the response to the device.
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Audit } from '../audit/audit.ts';
import { type ProviderPages, showPage } from './pages.ts';
import { pollInterval } from './storage/device-codes.ts';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

/** `features.deviceFlow` of the configuration. */
export const createDeviceFlow = ({ pages, audit }: { pages: ProviderPages; audit: Audit }): DeviceFlow => ({
  enabled: true,
  // The address and the browser of the device are not needed, so they are not stored.
  deviceInfo: () => ({}),
  successSource: async (ctx) => {
    const page = { clientName: ctx.oidc.client?.clientName };
    showPage(ctx, await pages.deviceConnected(page, ctx.req, ctx.res));
  },
  // Called with an error only, because our own page asks for the code (interaction/device-pages.ts).
  userCodeInputSource: async (ctx, _form, _out, error) => {
    forgetNewSession(ctx);
    const isDenied = error?.name === 'AbortedError';
    if (isDenied) {
      const { params, session } = ctx.oidc;
      audit.record({
        kind: 'device.denied',
        // The library has not found the client yet when the user cancels.
        clientId: params?.client_id as string | undefined,
        accountId: session?.accountId,
        address: ctx.ip,
      });
    }
    const reason = isDenied ? 'denied' : ctx.status < 500 ? 'expired' : 'failed';
    const html = await pages.deviceNotConnected({ reason }, ctx.req, ctx.res);
    // The library sets the status 200 for errors that the user can correct.
    showPage(ctx, html, { status: isDenied ? 200 : Math.max(400, ctx.status) });
  },
});

/**
 * The library has just put the CSRF token of its form into the session, which would store a session for every visitor.
 */
function forgetNewSession(ctx: KoaContextWithOIDC): void {
  const session = ctx.oidc.session as { new?: boolean; accountId?: string; touched?: boolean } | undefined;
  if (session?.new && session.accountId === undefined) session.touched = false;
}

/** The library leaves `interval` out of the response. */
export function addPollInterval(provider: Provider): void {
  provider.on('device_authorization.success', (_ctx, body) => {
    (body as Record<string, unknown>).interval = pollInterval;
  });
}
