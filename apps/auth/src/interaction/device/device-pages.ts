// Serves the page where a user enters the code of a device, and the page where the user allows or denies the sign-in
// (RFC 8628 section 3.3). If the user allows it, sign-in and consent follow as for an authorization request.
import { type Request, type Response, Router } from 'express';
import type { ErrorMessage } from '../../html/error-page.ts';
import { field, queryText, tooMany } from '../../html/forms.ts';
import type { FormState } from '../../html/site.ts';
import { type DeviceRequest, formatUserCode } from '../../oidc/authorization/device-sign-in.ts';
import { routes } from '../../oidc/paths.ts';
import type { PageServices } from '../../services.ts';

export const deviceMessages = {
  denied: { title: 'The device is not connected', text: 'You did not allow the sign-in. You can close this page.' },
  expired: {
    title: 'The device is not connected',
    text:
      'The code has expired or was used already, or this page was open for too long. ' +
      'If your device still shows a code, enter this code again. Otherwise, get a new code on the device.',
  },
  failed: {
    title: 'The device is not connected',
    text: 'Something went wrong on our side. Enter the code again in a moment.',
  },
  connected: { title: 'Your device is connected', text: 'You can close this page and go back to your device.' },
} as const satisfies Readonly<Record<string, ErrorMessage>>;

const path = routes.code_verification;
const csrfContext = 'device';

export function devicePages(services: PageServices): Router {
  const { site, sessions, csrfTokens, userCodeGuard, findDeviceRequest, audit } = services;

  /** Returns what wrong codes are counted for: the IP address, and the session or else the browser. */
  const guardKeysOf = async (request: Request, response: Response) => {
    const signedIn = await sessions.current(request, response);
    return { address: request.ip ?? '', session: signedIn?.sessionId ?? csrfTokens.browserOf(request, response) };
  };

  const showCodeForm = (response: Response, userCode: string, state: FormState = {}): Promise<void> => {
    const page = { title: 'Connect a device', csrfContext, ...state };
    return site.show(response, 'device-code', { userCode }, page);
  };

  const showTooManyWrongCodes = (response: Response, userCode: string, retryAfter: number): Promise<void> =>
    showCodeForm(response, userCode, tooMany(response, retryAfter, 'Too many wrong codes were entered.'));

  const show = async (request: Request, response: Response): Promise<void> => {
    const userCode = formatUserCode(queryText(request, 'user_code') ?? '');
    const retryAfter = await userCodeGuard.waitingTime(await guardKeysOf(request, response));
    if (retryAfter > 0) return showTooManyWrongCodes(response, userCode, retryAfter);
    return showCodeForm(response, userCode);
  };

  /** Handles a correct code: begins or denies the sign-in, or asks the user for a decision. */
  const decide = async (
    request: Request,
    response: Response,
    { device, userCode, accountId }: { device: DeviceRequest; userCode: string; accountId: string | undefined },
  ): Promise<void> => {
    const { clientId, clientName } = device;
    const decision = field(request, 'decision');
    if (decision === 'allow') return device.begin(request, response);
    if (decision === 'deny') {
      if (await device.deny()) audit.record({ kind: 'device.denied', accountId, clientId, address: request.ip });
      return site.showMessage(response, { ...deviceMessages.denied, csrfContext });
    }
    const page = { title: `Connect ${clientName}?`, csrfContext };
    return site.show(response, 'device-confirm', { userCode, clientName }, page);
  };

  /** Handles the form with the user code, and the form with the buttons to allow or deny. */
  const submit = async (request: Request, response: Response): Promise<void> => {
    const userCode = formatUserCode(field(request, 'user_code'));
    const showError = (text: string): Promise<void> =>
      showCodeForm(response, userCode, { status: 400, validationErrors: [{ field: 'user_code', text }] });
    if (!userCode) return showError('Enter the code that your device shows.');
    const attempt = await userCodeGuard.beginAttempt(await guardKeysOf(request, response));
    const accountId = (await sessions.current(request, response))?.account.id;
    if ('retryAfter' in attempt) {
      audit.record({ kind: 'device-code.locked', accountId, address: request.ip });
      return showTooManyWrongCodes(response, userCode, attempt.retryAfter);
    }
    const device = await findDeviceRequest(userCode);
    if (!device) {
      audit.record({ kind: 'device-code.refused', accountId, address: request.ip });
      return showError('This code is wrong, has expired or was used already. Compare it with the code on your device.');
    }
    await attempt.succeeded();
    return decide(request, response, { device, userCode, accountId });
  };

  const router = Router();
  router.get(path, show);
  router.post(path, ...site.form(() => csrfContext, submit));
  return router;
}
