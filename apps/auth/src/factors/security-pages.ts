// Serves the page "Sign-in security", where users set up and remove passkeys, an authenticator app and recovery codes.

import { createSecretBox } from '@bay-booking/service/secret-box';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { describeBrowser } from '../account/browser-name.ts';
import { validateName } from '../accounts/field-rules.ts';
import { field, queryText, rawField, textOfKey } from '../html/form-body.ts';
import { localPath, missingFactorPath, securityPath as path, signInPath } from '../html/local-path.ts';
import { hasTwoFactors, type SignedIn } from '../html/signed-in.ts';
import type { FormState, SignedInHandler } from '../html/site.ts';
import type { ValidationError } from '../html/validation-errors.ts';
import type { SignInServices } from '../interaction/sign-in/start-session.ts';
import { appLinkOf, createSecret, qrCodeOf, stepOfCode } from './authenticator.ts';
import { createRecoveryCodes } from './recovery-codes.ts';
import { maxPasskeys } from './store.ts';

/** The texts that confirm a change. The query parameter `done` of the page is the key of a text. */
const notices: Readonly<Record<string, string>> = {
  'app-added': 'Your authenticator app is set up.',
  'passkey-added': 'The passkey is added.',
  'passkey-renamed': 'The name of the passkey is changed.',
  'passkey-removed': 'The passkey is removed. Also delete it on your device, where it no longer works here.',
  'app-removed': 'The authenticator app is removed.',
};

const requiredText =
  'A facility where you have a role requires a second factor. Add another one before you remove the last one.';

export function securityRoutes(services: SignInServices): Router {
  const { site, factors, emails, audit, config, addFactorToSession } = services;
  // The secret of a set-up that is not finished is only in the form, and encrypted.
  const box = createSecretBox(config.encryptionKeys);
  const setUpOwner = ({ account, sessionId }: SignedIn): string => `set-up of ${account.id} in ${sessionId}`;

  /** The page to which a user returns who had to set up a factor first. */
  const returnPathOf = (request: Request): string | undefined => {
    const wanted = queryText(request, 'return');
    return wanted === undefined ? undefined : localPath(wanted, '/account');
  };
  const withReturn = (page: string, request: Request): string => {
    const returnTo = returnPathOf(request);
    return returnTo === undefined ? page : `${page}?return=${encodeURIComponent(returnTo)}`;
  };

  const record = (request: Request, { account }: SignedIn, kind: string, factor: string): void =>
    audit.record({ kind, accountId: account.id, address: request.ip, detail: { factor } });

  const show = async (response: Response, signedIn: SignedIn, state: FormState = {}): Promise<void> => {
    const { req: request } = response;
    const found = await factors.list(signedIn.account.id);
    const data = {
      ...found,
      hasSecondFactor: found.passkeys.length > 0 || found.authenticatorApp !== undefined,
      notice: textOfKey(notices, queryText(request, 'done')),
      returnTo: returnPathOf(request),
      passkeyPath: withReturn(`${path}/passkey`, request),
      maxPasskeys,
      authenticatorPath: withReturn(`${path}/authenticator`, request),
    };
    await site.show(response, '/factors/views/security', data, {
      title: 'Sign-in security',
      width: 'wide',
      script: true,
      ...state,
    });
  };

  const showRecoveryCodes = (
    response: Response,
    codes: readonly string[],
    { title, text }: { title: string; text: string },
  ): Promise<void> => {
    const data = { codes, title, text, next: returnPathOf(response.req) ?? path };
    return site.show(response, '/factors/views/recovery-codes', data, { title, script: true });
  };

  /** Runs the handler after a fresh sign-in with the strongest factor that the account has. */
  const withStrongSignIn =
    (handler: SignedInHandler): SignedInHandler =>
    async (request, response, signedIn) => {
      const returnTo = request.method === 'GET' ? request.originalUrl : withReturn(path, request);
      if (!hasTwoFactors(signedIn) && (await factors.hasSecondFactor(signedIn.account.id))) {
        return response.redirect(303, missingFactorPath(returnTo, true));
      }
      if (!signedIn.isFresh) return response.redirect(303, signInPath(returnTo, { again: true }));
      return handler(request, response, signedIn);
    };

  const showSetUp = (response: Response, signedIn: SignedIn, secret: string, state: FormState = {}): Promise<void> => {
    const { username } = signedIn.account;
    const data = {
      action: withReturn(`${path}/authenticator`, response.req),
      cancel: withReturn(path, response.req),
      secret,
      appLink: appLinkOf(secret, username),
      sealedSecret: box.encrypt(secret, setUpOwner(signedIn)),
      qrCode: qrCodeOf(secret, username),
    };
    return site.show(response, '/factors/views/authenticator', data, {
      title: 'Set up an authenticator app',
      ...state,
    });
  };

  const openSetUp: SignedInHandler = async (request, response, signedIn) => {
    const { authenticatorApp } = await factors.list(signedIn.account.id);
    if (authenticatorApp) return response.redirect(303, withReturn(path, request));
    return showSetUp(response, signedIn, createSecret());
  };

  const setUp: SignedInHandler = async (request, response, signedIn) => {
    const { account } = signedIn;
    let secret: string;
    try {
      secret = box.decrypt(field(request, 'secret'), setUpOwner(signedIn));
    } catch {
      return response.redirect(303, withReturn(`${path}/authenticator`, request));
    }
    const step = stepOfCode(secret, field(request, 'code').replaceAll(' ', ''));
    if (step === undefined) {
      const text =
        'The code is wrong. Type the six digits that the app shows now. The clock of your phone must be right.';
      return showSetUp(response, signedIn, secret, { validationErrors: [{ field: 'code', text }], status: 400 });
    }
    const codes = createRecoveryCodes();
    const added = await factors.addAuthenticatorApp({ accountId: account.id, secret, step }, codes);
    if (!added) return response.redirect(303, withReturn(path, request));
    await addFactorToSession(request, response, signedIn, 'otp');
    record(request, signedIn, 'factor.added', 'authenticator app');
    await emails.sendFactorChanged(account, 'An authenticator app was added');
    if (added.isFirst) {
      const text = 'Your authenticator app is set up. From now on, we ask for its code when you sign in.';
      return showRecoveryCodes(response, codes, { title: 'Save your recovery codes', text });
    }
    response.redirect(303, returnPathOf(request) ?? `${path}?done=app-added`);
  };

  const showPasskeyForm = async (
    response: Response,
    { account }: SignedIn,
    { name, ...state }: FormState & { name?: string } = {},
  ): Promise<void> => {
    const { req: request } = response;
    const { passkeys } = await factors.list(account.id);
    const data = {
      action: withReturn(`${path}/passkey`, request),
      cancel: withReturn(path, request),
      name: name ?? describeBrowser(request.get('user-agent') ?? null),
      options: JSON.stringify(await services.passkeys.creationOptions(account, passkeys)),
    };
    const page = { title: 'Add a passkey', script: 'passkeys', ...state } as const;
    return site.show(response, '/factors/views/passkey', data, page);
  };

  const addPasskey: SignedInHandler = async (request, response, signedIn) => {
    const { account } = signedIn;
    const name = field(request, 'name');
    const showError = (error: ValidationError) =>
      showPasskeyForm(response, signedIn, { validationErrors: [error], status: 400, name });
    const nameError = validateName(name, 'Enter a name, such as the name of your phone.');
    if (nameError) return showError({ field: 'name', text: nameError });
    const passkey = await services.passkeys.create(account.id, name, rawField(request, 'passkey'));
    if (!passkey) return showError({ field: 'passkey', text: 'The passkey was not accepted. Try again.' });
    const codes = createRecoveryCodes();
    const added = await factors.addPasskey(passkey, codes);
    if (!added) {
      const text = `This passkey is already added, or you have ${maxPasskeys} passkeys. Remove one first.`;
      return showError({ field: 'passkey', text });
    }
    await addFactorToSession(request, response, signedIn, 'pop');
    record(request, signedIn, 'factor.added', 'passkey');
    await emails.sendFactorChanged(account, 'A passkey was added');
    if (added.isFirst) {
      const text = 'Your passkey is added. From now on, a password alone does not sign in to your account.';
      return showRecoveryCodes(response, codes, { title: 'Save your recovery codes', text });
    }
    response.redirect(303, returnPathOf(request) ?? `${path}?done=passkey-added`);
  };

  const renamePasskey: SignedInHandler = async (request, response, signedIn) => {
    const name = field(request, 'name');
    const nameError = validateName(name, 'Enter a name for the passkey.');
    if (nameError) return show(response, signedIn, { validationErrors: [{ text: nameError }], status: 400 });
    await factors.renamePasskey(signedIn.account.id, field(request, 'id'), name);
    response.redirect(303, `${path}?done=passkey-renamed`);
  };

  const removePasskey: SignedInHandler = async (request, response, signedIn) => {
    const outcome = await factors.removePasskey(signedIn.account.id, field(request, 'id'));
    if (outcome === 'required') {
      return show(response, signedIn, { validationErrors: [{ text: requiredText }], status: 409 });
    }
    if (outcome === 'removed') {
      record(request, signedIn, 'factor.removed', 'passkey');
      await emails.sendFactorChanged(signedIn.account, 'A passkey was removed');
    }
    response.redirect(303, `${path}?done=passkey-removed`);
  };

  const removeApp: SignedInHandler = async (request, response, signedIn) => {
    const outcome = await factors.removeAuthenticatorApp(signedIn.account.id);
    if (outcome === 'required') {
      return show(response, signedIn, { validationErrors: [{ text: requiredText }], status: 409 });
    }
    if (outcome === 'removed') {
      record(request, signedIn, 'factor.removed', 'authenticator app');
      await emails.sendFactorChanged(signedIn.account, 'The authenticator app was removed');
    }
    response.redirect(303, `${path}?done=app-removed`);
  };

  const replaceRecoveryCodes: SignedInHandler = async (request, response, signedIn) => {
    const { account } = signedIn;
    if (!(await factors.hasSecondFactor(account.id))) return response.redirect(303, path);
    const codes = createRecoveryCodes();
    await factors.replaceRecoveryCodes(account.id, codes);
    record(request, signedIn, 'factor.added', 'recovery codes');
    await emails.sendFactorChanged(account, 'New recovery codes were created');
    return showRecoveryCodes(response, codes, {
      title: 'Your new recovery codes',
      text: 'Your earlier recovery codes no longer work.',
    });
  };

  const router = Router();
  const form = (handler: SignedInHandler): RequestHandler[] => site.formForSignedIn(withStrongSignIn(handler));
  router.get(
    path,
    site.forSignedIn((_request, response, signedIn) => show(response, signedIn)),
  );
  router.get(
    `${path}/passkey`,
    site.forSignedIn(withStrongSignIn((_request, response, signedIn) => showPasskeyForm(response, signedIn))),
  );
  router.post(`${path}/passkey`, ...form(addPasskey));
  router.post(`${path}/passkey/name`, ...site.formForSignedIn(renamePasskey));
  router.post(`${path}/passkey/remove`, ...form(removePasskey));
  router.get(`${path}/authenticator`, site.forSignedIn(withStrongSignIn(openSetUp)));
  router.post(`${path}/authenticator`, ...form(setUp));
  router.post(`${path}/authenticator/remove`, ...form(removeApp));
  router.post(`${path}/recovery-codes`, ...form(replaceRecoveryCodes));
  router.use(path, site.errorHandler);
  return router;
}
