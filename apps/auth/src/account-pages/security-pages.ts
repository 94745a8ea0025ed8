// Serves the page "Sign-in security", where users set up and remove passkeys, an authenticator app and recovery codes.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { endEverything } from '../accounts/end-access-store.ts';
import { hasUnconfirmedAddress } from '../accounts/store.ts';
import { createRecoveryCodes } from '../factors/codes.ts';
import { maxPasskeys, type RemovedFactor } from '../factors/store.ts';
import { type FormError, field, idField, queryText, rawField, textOfKey } from '../html/forms.ts';
import { securityPath as path } from '../html/local-path.ts';
import { missingProofPath, type SignedIn } from '../html/signed-in.ts';
import type { FormState, SignedInHandler } from '../html/site.ts';
import { validateName } from '../input/field-rules.ts';
import type { PageServices } from '../services.ts';
import { type CompleteSetUp, createAuthenticatorSetUp, returnPathOf, withReturn } from './authenticator-set-up.ts';
import { describeBrowser } from './browser-name.ts';
import { createFirstFactorCode, mailCodeEnded } from './first-factor-code.ts';

/** The texts that confirm a change. The query parameter `done` of the page is the key of a text. */
const notices: Readonly<Record<string, string>> = {
  'app-added': 'Your authenticator app is set up.',
  'passkey-added': 'Passkey added.',
  'passkey-renamed': 'Passkey renamed.',
  'passkey-removed': 'Passkey removed. You can delete it from your device too.',
  'app-removed': 'Authenticator app removed. You can delete the entry in the app too.',
};

const setUps = {
  passkey: { change: 'A passkey was added', method: 'pop', done: 'passkey-added' },
  'authenticator app': { change: 'An authenticator app was set up', method: 'otp', done: 'app-added' },
} as const;

const requiredText =
  'A facility where you have a role requires a second factor. Add another one before you remove the last one.';

export function securityRoutes(services: PageServices): Router {
  const { site, factors, emails, audit, config, db, outbox, addFactorToSession } = services;

  const code = createFirstFactorCode(services);
  const { mailCodeField, sendCode, checkMailCode, proofOf } = code;

  const record = (request: Request, { account }: SignedIn, kind: string, factor: string): void =>
    audit.record({ kind, accountId: account.id, address: request.ip, detail: { factor } });

  const show = async (response: Response, signedIn: SignedIn, state: FormState = {}): Promise<void> => {
    const { req: request } = response;
    const found = await factors.list(signedIn.account.id);
    const data = {
      ...found,
      hasSecondFactor: found.passkeys.length > 0 || found.appSetUpAt !== null,
      returnTo: returnPathOf(request),
      passkeyPath: withReturn(`${path}/passkey`, request),
      maxPasskeys,
      mustConfirm: hasUnconfirmedAddress(signedIn.account),
      isMailOn: config.mail === 'on',
      authenticatorPath: withReturn(`${path}/authenticator`, request),
    };
    await site.show(response, '/account-pages/views/security', data, {
      title: 'Sign-in security',
      width: 'wide',
      breadcrumbs: [{ href: '/account', text: 'Your account' }],
      notice: textOfKey(notices, queryText(request, 'done')),
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
    return site.show(response, '/account-pages/views/recovery-codes', data, { title, script: true });
  };

  /** Runs the handler after a fresh sign-in with the strongest factor that the account has. */
  const withStrongSignIn =
    (handler: SignedInHandler): SignedInHandler =>
    async (request, response, signedIn) => {
      // The other forms have a page of their own.
      const isOnList = request.path === `${path}/recovery-codes`;
      const returnTo = isOnList ? withReturn(path, request) : request.originalUrl;
      const missing = await missingProofPath(factors, signedIn, returnTo);
      if (missing !== undefined) return response.redirect(303, missing);
      return handler(request, response, signedIn);
    };

  /** Anybody can register with the e-mail address of somebody else, who must not find factors of a stranger. */
  const toAddFactor = (handler: SignedInHandler): SignedInHandler =>
    withStrongSignIn((request, response, signedIn) => {
      if (!hasUnconfirmedAddress(signedIn.account)) return handler(request, response, signedIn);
      const text = 'Confirm your e-mail address before you add a second factor.';
      return show(response, signedIn, { validationErrors: [{ text }], status: 409 });
    });

  /** Completes a set-up. The first factor ends other sessions: somebody who knows the password may have one. */
  const complete =
    (factor: keyof typeof setUps): CompleteSetUp =>
    async (request, response, signedIn, firstCodes) => {
      const { account, sessionId } = signedIn;
      const { change, method, done } = setUps[factor];
      await addFactorToSession(request, response, signedIn, method);
      if (firstCodes) {
        await endEverything(db, account.id, { keptSession: sessionId });
        outbox.wake();
      }
      record(request, signedIn, 'factor.added', factor);
      await emails.sendFactorChanged(account, change);
      if (!firstCodes) return response.redirect(303, returnPathOf(request) ?? `${path}?done=${done}`);
      const text =
        `Your ${factor} is ready. From now on, a password alone does not sign in to your account. ` +
        'You were signed out everywhere else, and applications lost their access.';
      return showRecoveryCodes(response, firstCodes, { title: 'Save your recovery codes', text });
    };

  const showPasskeyForm = async (
    response: Response,
    signedIn: SignedIn,
    { name, ...state }: FormState & { name?: string } = {},
  ): Promise<void> => {
    const { req: request } = response;
    const { account } = signedIn;
    const { passkeys } = await factors.list(account.id);
    const data = {
      mailCode: await mailCodeField(request, signedIn),
      action: withReturn(`${path}/passkey`, request),
      cancel: withReturn(path, request),
      name: name ?? describeBrowser(request.get('user-agent') ?? null),
      options: JSON.stringify(await services.passkeys.creationOptions(account, passkeys)),
    };
    const page = { title: 'Add a passkey', script: 'passkeys', ...state } as const;
    return site.show(response, '/account-pages/views/passkey', data, page);
  };

  const addPasskey: SignedInHandler = async (request, response, signedIn) => {
    const { account } = signedIn;
    const name = field(request, 'name');
    if (field(request, 'send') !== '') {
      return showPasskeyForm(response, signedIn, await sendCode(response, signedIn, { isRequested: true }));
    }
    const showError = (error: FormError) =>
      showPasskeyForm(response, signedIn, { validationErrors: [error], status: 400, name });
    const nameError = validateName(name, 'Enter a name, such as the name of your phone.');
    if (nameError) return showError({ field: 'name', text: nameError });
    const passkey = await services.passkeys.create(account.id, name, rawField(request, 'passkey'));
    if (!passkey) return showError({ field: 'passkey', text: 'The passkey was not accepted. Try again.' });
    const mailCodeError = await checkMailCode(request, signedIn);
    if (mailCodeError) return showError({ field: 'mailCode', text: mailCodeError });
    const codes = createRecoveryCodes();
    const prove = await proofOf(request, signedIn);
    const added = await factors.addPasskey(passkey, { recoveryCodes: codes, prove });
    if (added === 'unproven') return showError({ field: 'mailCode', text: mailCodeEnded });
    if (added === 'exists') {
      const text = `This passkey is already added, or you have ${maxPasskeys} passkeys. Remove one first.`;
      return showError({ field: 'passkey', text });
    }
    return complete('passkey')(request, response, signedIn, added.isFirst ? codes : undefined);
  };

  const renamePasskey: SignedInHandler = async (request, response, signedIn) => {
    const name = field(request, 'name');
    const nameError = validateName(name, 'Enter a name for the passkey.');
    if (nameError) return show(response, signedIn, { validationErrors: [{ text: nameError }], status: 400 });
    await factors.renamePasskey(signedIn.account.id, idField(request, 'id'), name);
    response.redirect(303, `${path}?done=passkey-renamed`);
  };

  /** Removes a factor after a page has asked for it. `remove` gets the `id` in the query or form. */
  const removal = (
    page: 'passkey' | 'authenticator',
    factor: string,
    done: string,
    remove: (accountId: string, id: string) => Promise<RemovedFactor>,
  ) => {
    const ask: SignedInHandler = async (request, response, { account }) => {
      const id = queryText(request, 'id') ?? '';
      const { passkeys, appSetUpAt, recoveryCodes } = await factors.list(account.id);
      const passkey = passkeys.find((each) => each.id === id);
      if (page === 'passkey' ? !passkey : !appSetUpAt) return response.redirect(303, path);
      const name = passkey ? `the passkey “${passkey.name}”` : 'the authenticator app';
      const isLast = passkeys.length + (appSetUpAt ? 1 : 0) === 1;
      const confirmation = { title: `Remove ${name}?`, button: 'Remove', cancel: path, hidden: { id } };
      return site.showConfirmation(response, '/account-pages/views/remove', { isLast, recoveryCodes }, confirmation);
    };
    const submit: SignedInHandler = async (request, response, signedIn) => {
      const outcome = await remove(signedIn.account.id, idField(request, 'id'));
      if (outcome === 'required') {
        return show(response, signedIn, { validationErrors: [{ text: requiredText }], status: 409 });
      }
      if (outcome === 'removed') {
        record(request, signedIn, 'factor.removed', factor);
        await emails.sendFactorChanged(signedIn.account, `${factor === 'passkey' ? 'A' : 'The'} ${factor} was removed`);
      }
      response.redirect(303, `${path}?done=${done}`);
    };
    router.get(`${path}/${page}/remove`, site.forSignedIn(withStrongSignIn(ask)));
    router.post(`${path}/${page}/remove`, ...form(submit));
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

  const { openSetUp, setUp } = createAuthenticatorSetUp(services, code, complete('authenticator app'));

  const router = Router();
  const form = (handler: SignedInHandler): RequestHandler[] => site.formForSignedIn(withStrongSignIn(handler));
  router.get(
    path,
    site.forSignedIn((_request, response, signedIn) => show(response, signedIn)),
  );
  router.get(
    `${path}/passkey`,
    site.forSignedIn(
      toAddFactor(async (_request, response, signedIn) =>
        showPasskeyForm(response, signedIn, await sendCode(response, signedIn)),
      ),
    ),
  );
  router.post(`${path}/passkey`, ...site.formForSignedIn(toAddFactor(addPasskey)));
  router.post(`${path}/passkey/name`, ...site.formForSignedIn(renamePasskey));
  removal('passkey', 'passkey', 'passkey-removed', factors.removePasskey);
  router.get(`${path}/authenticator`, site.forSignedIn(toAddFactor(openSetUp)));
  router.post(`${path}/authenticator`, ...site.formForSignedIn(toAddFactor(setUp)));
  removal('authenticator', 'authenticator app', 'app-removed', factors.removeAuthenticatorApp);
  router.post(`${path}/recovery-codes`, ...form(replaceRecoveryCodes));
  return router;
}
