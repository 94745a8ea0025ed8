// Serves the page that sets up an authenticator app. A cookie keeps the key until the user has typed the first code.
import { createSecretBox } from '@bay-booking/service/secret-box';
import type { Request, Response } from 'express';
import { appLinkOf, createRecoveryCodes, createSecret, qrCodeOf, stepOfCode } from '../factors/codes.ts';
import { codeField, field, fieldErrors, queryText } from '../html/forms.ts';
import { localPath, securityPath as path } from '../html/local-path.ts';
import type { SignedIn } from '../html/signed-in.ts';
import type { FormState, SignedInHandler } from '../html/site.ts';
import type { PageServices } from '../services.ts';
import { type FirstFactorCode, mailCodeEnded } from './first-factor-code.ts';

/** The cookie with the encrypted key of a set-up that is not finished. */
const setUpCookie = '_setup';
const setUpSeconds = 15 * 60;

/** Where the user goes afterwards, if a page required a factor. */
export const returnPathOf = (request: Request): string | undefined => {
  const wanted = queryText(request, 'return');
  return wanted === undefined ? undefined : localPath(wanted, '/account');
};

export const withReturn = (page: string, request: Request): string => {
  const returnTo = returnPathOf(request);
  return returnTo === undefined ? page : `${page}?return=${encodeURIComponent(returnTo)}`;
};

/** `firstCodes` are the recovery codes that belong to the first factor of the account. */
export type CompleteSetUp = (
  request: Request,
  response: Response,
  signedIn: SignedIn,
  firstCodes: readonly string[] | undefined,
) => Promise<void>;

export function createAuthenticatorSetUp(
  { site, config, cookies, factors }: PageServices,
  { mailCodeField, sendCode, checkMailCode, proofOf }: FirstFactorCode,
  complete: CompleteSetUp,
) {
  const box = createSecretBox(config.encryptionKeys);
  const setUpOwner = ({ account, sessionId }: SignedIn): string => `set-up of ${account.id} in ${sessionId}`;

  /** Returns the key of the set-up that this session has begun, or undefined after 15 minutes. */
  const keyOfSetUp = (request: Request, response: Response, signedIn: SignedIn): string | undefined => {
    try {
      const sealed = cookies.get(request, response, setUpCookie) ?? '';
      const [secret, expiresAt] = box.decrypt(sealed, setUpOwner(signedIn)).split(' ');
      return Number(expiresAt) > Date.now() ? secret : undefined;
    } catch {
      return undefined;
    }
  };

  const beginSetUp = (request: Request, response: Response, signedIn: SignedIn): string => {
    const secret = createSecret();
    const value = box.encrypt(`${secret} ${Date.now() + setUpSeconds * 1000}`, setUpOwner(signedIn));
    cookies.set(request, response, { name: setUpCookie, value, maxAge: setUpSeconds });
    return secret;
  };

  const showSetUp = async (
    response: Response,
    signedIn: SignedIn,
    secret: string,
    state: FormState = {},
  ): Promise<void> => {
    const { username } = signedIn.account;
    const data = {
      action: withReturn(`${path}/authenticator`, response.req),
      cancel: withReturn(path, response.req),
      secret,
      mailCode: await mailCodeField(response.req, signedIn),
      appLink: appLinkOf(secret, username),
      qrCode: qrCodeOf(secret, username),
    };
    return site.show(response, '/account-pages/views/authenticator', data, {
      title: 'Set up an authenticator app',
      script: true,
      ...state,
    });
  };

  const openSetUp: SignedInHandler = async (request, response, signedIn) => {
    const secret = keyOfSetUp(request, response, signedIn) ?? beginSetUp(request, response, signedIn);
    return showSetUp(response, signedIn, secret, await sendCode(response, signedIn));
  };

  const setUp: SignedInHandler = async (request, response, signedIn) => {
    const { account } = signedIn;
    const secret = keyOfSetUp(request, response, signedIn);
    if (secret === undefined) {
      const text = 'The set-up took more than 15 minutes, so the key below is new. Add this key to the app.';
      const newSecret = beginSetUp(request, response, signedIn);
      return showSetUp(response, signedIn, newSecret, { validationErrors: [{ text }], status: 400 });
    }
    if (field(request, 'send') !== '') {
      return showSetUp(response, signedIn, secret, await sendCode(response, signedIn, { isRequested: true }));
    }
    const step = stepOfCode(secret, codeField(request, 'code'));
    const wrongCode =
      'The code is wrong. Check that the app has the key below, and type the six digits that it shows now.';
    const validationErrors = fieldErrors(
      step === undefined ? { code: wrongCode } : { mailCode: await checkMailCode(request, signedIn) },
    );
    if (step === undefined || validationErrors.length > 0) {
      return showSetUp(response, signedIn, secret, { validationErrors, status: 400 });
    }
    const codes = createRecoveryCodes();
    const added = await factors.addAuthenticatorApp(
      { accountId: account.id, secret, step },
      { recoveryCodes: codes, prove: await proofOf(request, signedIn) },
    );
    if (typeof added === 'string') {
      const validation = { validationErrors: [{ field: 'mailCode', text: mailCodeEnded }], status: 400 };
      return showSetUp(response, signedIn, secret, validation);
    }
    cookies.set(request, response, { name: setUpCookie, value: '' });
    return complete(request, response, signedIn, added.isFirst ? codes : undefined);
  };

  return { openSetUp, setUp };
}
