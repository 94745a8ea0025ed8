// Simulates a device (RFC 8628) and the user who enters the code of the device.
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { type AuthServer, scopes, statusAndBody } from './auth-server.ts';
import { allow, openBrowser, player, signInAndConsent } from './flows.ts';

export const deviceCodeGrant = 'urn:ietf:params:oauth:grant-type:device_code';
/** The demo client for devices. */
export const screen = { client_id: 'demo-screen' };
export const screenScope = `openid profile roles offline_access ${scopes.play}`;

export interface DeviceAuthorization {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
}

export function createDevice(server: AuthServer) {
  /** Requests the codes. `form` contains further parameters. */
  const start = async (form: Record<string, string> = {}): Promise<DeviceAuthorization> => {
    const response = await server.post('/connect/deviceauthorization', { ...screen, scope: screenScope, ...form });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as DeviceAuthorization;
  };

  /** Enters the code on the page `/device`. Returns the page with the decision, or the page with an error. */
  const enter = async (userCode: string, browser: FormBrowser = openBrowser(server)): Promise<Page> =>
    browser.submit('/device', { user_code: userCode });

  return {
    start,
    enter,

    /**
     * Starts a device, enters its code and decides. Returns the page that follows. `form` contains further parameters
     * of the request for the codes.
     */
    async decide(decision: typeof allow, { form = {}, browser = openBrowser(server) } = {}) {
      const codes = await start(form);
      return { codes, browser, page: await browser.send(await enter(codes.user_code, browser), {}, decision) };
    },

    /**
     * Requests tokens with the device code. `at` is the origin of an instance. `form` contains the fields that identify
     * the client. The cast to `Record` lets callers send other fields too.
     */
    async poll(
      { device_code }: Pick<DeviceAuthorization, 'device_code'>,
      { at = server.origin, form = screen as Record<string, string>, headers = {} } = {},
    ): Promise<Record<string, unknown>> {
      const body = new URLSearchParams({ grant_type: deviceCodeGrant, device_code, ...form });
      return statusAndBody(await fetch(`${at}/connect/token`, { method: 'POST', headers, body }));
    },

    /** Enters the code, allows the sign-in for the device, signs in and consents. Returns the last page. */
    async connect(
      { user_code }: Pick<DeviceAuthorization, 'user_code'>,
      { browser = openBrowser(server), user = player } = {},
    ): Promise<Page> {
      const entered = await enter(user_code, browser);
      return signInAndConsent(browser, await browser.send(entered, {}, allow), user);
    },

    /** Changes the times of all device codes in the database as if this number of seconds had passed. */
    async passTime(seconds: number): Promise<void> {
      await server.db.raw(
        `update oidc_artifact set next_poll_at = next_poll_at - make_interval(secs => ?),
                expires_at = expires_at - make_interval(secs => ?) where model = 'DeviceCode'`,
        [seconds, seconds],
      );
    },
  };
}
