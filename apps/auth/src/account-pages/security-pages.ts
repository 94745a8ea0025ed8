// Serves the page "Sign-in security", where users set up and remove passkeys, an authenticator app and recovery codes.
import { createSecretBox } from '@bay-booking/service/secret-box';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { AccountEmails } from '../accounts/account-emails.ts';
import type { ConfirmationCodes } from '../accounts/confirmation-code-store.ts';
import { validateName } from '../accounts/field-rules.ts';
import { hasUnconfirmedAddress } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import type { AuthConfig } from '../config.ts';
import { appLinkOf, createRecoveryCodes, createSecret, qrCodeOf, stepOfCode } from '../factors/codes.ts';
import type { Passkeys } from '../factors/passkeys.ts';
import { type FactorSetUp, type FactorStore, maxPasskeys } from '../factors/store.ts';
import {
  codeField,
  type FormError,
  field,
  fieldErrors,
  idField,
  queryText,
  rawField,
  textOfKey,
  tooMany,
} from '../html/forms.ts';
import { localPath, securityPath as path } from '../html/local-path.ts';
import { missingProofPath, type SignedIn } from '../html/signed-in.ts';
import type { FormState, SignedInHandler, Site } from '../html/site.ts';
import type { BrowserCookies } from '../http/browser-cookies.ts';
import type { SessionStore } from '../interaction/sign-in/session-store.ts';
import type { StartSession } from '../interaction/sign-in/start-session.ts';
import { describeBrowser } from './browser-name.ts';

/** The texts that confirm a change. The query parameter `done` of the page is the key of a text. */
const notices: Readonly<Record<string, string>> = {
  'app-added': 'Your authenticator app is set up.',
  'passkey-added': 'Passkey added.',
  'passkey-renamed': 'Passkey renamed.',
  'passkey-removed': 'Passkey removed. You can delete it from your device too.',
  'app-removed': 'Authenticator app removed. You can delete the entry in the app too.',
};

const requiredText =
  'A facility where you have a role requires a second factor. Add another one before you remove the last one.';

const mailCodeEnded = 'The code from the e-mail has expired, or too many wrong codes were entered. Request a new code.';

/** The cookie with the encrypted key of a set-up that is not finished. */
const setUpCookie = '_setup';
const setUpSeconds = 15 * 60;

export function securityRoutes(options: {
  readonly site: Site;
  readonly factors: FactorStore;
  readonly emails: AccountEmails;
  readonly audit: Audit;
  readonly config: AuthConfig;
  readonly cookies: BrowserCookies;
  readonly confirmationCodes: ConfirmationCodes;
  readonly sessionStore: SessionStore;
  readonly passkeys: Passkeys;
  readonly addFactorToSession: StartSession['addFactorToSession'];
}): Router {
  const { site, factors, emails, audit, config, cookies, confirmationCodes, sessionStore, addFactorToSession } =
    options;
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

  /** Anybody can register with the address of somebody else, who must not find factors of a stranger. */
  const toAddFactor = (handler: SignedInHandler): SignedInHandler =>
    withStrongSignIn((request, response, signedIn) => {
      if (!hasUnconfirmedAddress(signedIn.account)) return handler(request, response, signedIn);
      const text = 'Confirm your e-mail address before you add a second step.';
      return show(response, signedIn, { validationErrors: [{ text }], status: 409 });
    });

  /** Returns where the code for the first factor is mailed. Undefined if no code is needed or can be mailed. */
  const codeAddressOf = async ({ account }: SignedIn): Promise<string | undefined> =>
    config.mail === 'off' || (await factors.hasSecondFactor(account.id))
      ? undefined
      : confirmationCodes.addressOf(account);

  /** Returns the form field for the mailed code if the code is needed. */
  const mailCodeField = async (request: Request, signedIn: SignedIn) => {
    const address = await codeAddressOf(signedIn);
    return (
      address && {
        name: 'mailCode',
        label: 'Code from the e-mail',
        hint: `We sent six digits to ${address}. They work for 10 minutes.`,
        value: field(request, 'mailCode') || undefined,
        autocomplete: 'off',
        inputmode: 'numeric',
        maxlength: 20,
        verbatim: true,
      }
    );
  };

  /** Mails the code for the first factor if it is needed. Returns the state of the form. */
  const sendCode = async (response: Response, signedIn: SignedIn, { isRequested = false } = {}): Promise<FormState> => {
    if ((await codeAddressOf(signedIn)) === undefined) return {};
    if (!isRequested && (await confirmationCodes.isSent(signedIn.sessionId))) return {};
    const waitSeconds = await confirmationCodes.send(signedIn);
    return waitSeconds === 0 ? {} : tooMany(response, waitSeconds, 'Too many codes were sent.');
  };

  /** Returns an error, or undefined if the mailed code is right or not needed. */
  const checkMailCode = async (request: Request, signedIn: SignedIn): Promise<string | undefined> => {
    if ((await codeAddressOf(signedIn)) === undefined) return undefined;
    const code = codeField(request, 'mailCode');
    if (!/^\d{6}$/.test(code)) return 'Enter the six digits from the e-mail.';
    const outcome = await confirmationCodes.check(signedIn, code);
    if (outcome === 'right') return undefined;
    const event = { accountId: signedIn.account.id, address: request.ip };
    audit.record({ kind: 'factor.refused', ...event, detail: { reason: 'wrong mailed code' } });
    return outcome === 'wrong' ? 'The code from the e-mail is wrong.' : mailCodeEnded;
  };

  /** The mailed code is used up by the transaction that stores the factor, so a failure leaves it as it was. */
  const proofOf = async (request: Request, signedIn: SignedIn): Promise<FactorSetUp['prove']> => {
    const isNeeded = (await codeAddressOf(signedIn)) !== undefined;
    return async (tx) => !isNeeded || confirmationCodes.consume(signedIn, codeField(request, 'mailCode'), tx);
  };

  /** Completes a set-up. Somebody with the password may be signed in elsewhere, so the first factor ends that. */
  const complete = async (
    request: Request,
    response: Response,
    signedIn: SignedIn,
    added: {
      readonly factor: string;
      readonly change: string;
      readonly method: 'otp' | 'pop';
      readonly done: string;
      /** The codes that belong to the first factor of the account. */
      readonly firstCodes: readonly string[] | undefined;
    },
  ): Promise<void> => {
    const { account, sessionId } = signedIn;
    const { factor, change, method, done, firstCodes } = added;
    await addFactorToSession(request, response, signedIn, method);
    if (firstCodes) await sessionStore.endEverything(account.id, { keptSession: sessionId });
    record(request, signedIn, 'factor.added', factor);
    await emails.sendFactorChanged(account, change);
    if (!firstCodes) return response.redirect(303, returnPathOf(request) ?? `${path}?done=${done}`);
    const text =
      `Your ${factor} is ready. From now on, a password alone does not sign in to your account. ` +
      'You were signed out everywhere else, and applications lost their access.';
    return showRecoveryCodes(response, firstCodes, { title: 'Save your recovery codes', text });
  };

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
    return complete(request, response, signedIn, {
      factor: 'authenticator app',
      change: 'An authenticator app was set up',
      method: 'otp',
      done: 'app-added',
      firstCodes: added.isFirst ? codes : undefined,
    });
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
      options: JSON.stringify(await options.passkeys.creationOptions(account, passkeys)),
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
    const passkey = await options.passkeys.create(account.id, name, rawField(request, 'passkey'));
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
    return complete(request, response, signedIn, {
      factor: 'passkey',
      change: 'A passkey was added',
      method: 'pop',
      done: 'passkey-added',
      firstCodes: added.isFirst ? codes : undefined,
    });
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
    remove: (accountId: string, id: string) => Promise<'removed' | 'not-found' | 'required'>,
  ) => {
    const ask: SignedInHandler = async (request, response, { account }) => {
      const id = queryText(request, 'id') ?? '';
      const { passkeys, authenticatorApp, recoveryCodes } = await factors.list(account.id);
      const passkey = passkeys.find((each) => each.id === id);
      if (page === 'passkey' ? !passkey : !authenticatorApp) return response.redirect(303, path);
      const name = passkey ? `the passkey “${passkey.name}”` : 'the authenticator app';
      const isLast = passkeys.length + (authenticatorApp ? 1 : 0) === 1;
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
