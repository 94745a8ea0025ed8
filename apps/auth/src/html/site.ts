// Sends the pages of this site and protects their handlers: a form needs a valid CSRF token, and a page for signed-in
// users needs a session.
import type { Request, RequestHandler, Response } from 'express';
import type { CsrfTokens } from './csrf-tokens.ts';
import { createErrorHandler, errorMessages, wayOn } from './error-page.ts';
import { errorsByField, rawField, readForm } from './forms.ts';
import { localPath, signInPath } from './local-path.ts';
import { type FindLayoutUser, type Layout, type LayoutUser, type PageLink, renderPage } from './render.ts';
import { type HtmlOptions, sendHtml } from './response-headers.ts';
import type { FindSignedIn, SignedIn } from './signed-in.ts';

export interface Page extends HtmlOptions, Omit<Layout, 'user'> {
  /**
   * The value that the page's CSRF token is bound to. Default: the id of the session, or `anonymous`, which no form
   * accepts. A page with a form for users who are not signed in must therefore set this value.
   */
  readonly csrfContext?: string | undefined;
}

/** The errors with which a page shows its form again, and the status of the response. */
export type FormState = Pick<Page, 'validationErrors' | 'status'>;

export interface MessagePage extends Page {
  readonly text: string;
  /** Default: `bad` for the status of an error. */
  readonly tone?: 'good' | 'bad' | 'plain' | undefined;
  readonly links?: readonly PageLink[];
}

export interface ConfirmationPage extends Page {
  /** The text of the button that makes the change. */
  readonly button: string;
  /** Whether the button warns. */
  readonly isDangerous?: boolean;
  /** The path of the link "Cancel". */
  readonly cancel: string;
  /** Further values of the form. */
  readonly hidden?: Readonly<Record<string, string>>;
}

export type SignedInHandler = (request: Request, response: Response, signedIn: SignedIn) => Promise<void> | void;

export interface FormOptions {
  /** Whether the sign-in must be recent. Required for a form that shows a secret, or changes the ways to sign in. */
  readonly requireFresh?: boolean;
  /** Returns the path where the user goes after signing in. Default: the page with the form. */
  readonly returnTo?: (request: Request) => string;
}

export function createSite({ findSignedIn, csrfTokens }: { findSignedIn: FindSignedIn; csrfTokens: CsrfTokens }) {
  const toLayoutUser = (response: Response, signedIn: SignedIn | undefined): LayoutUser | undefined =>
    signedIn && {
      name: signedIn.account.name ?? signedIn.account.username,
      csrf: csrfTokens.issue(response.req, response, signedIn.sessionId),
    };

  const findLayoutUser: FindLayoutUser = async (nodeRequest, nodeResponse) => {
    // oidc-provider, which runs inside our Express app, passes Express objects but declares them with Node's types.
    const response = nodeResponse as Response;
    // An error page must not fail because the session cannot be read.
    const signedIn = await findSignedIn(nodeRequest as Request, response).catch(() => undefined);
    return toLayoutUser(response, signedIn);
  };

  /** Sends a page. `renderPage` documents the parameter `template`. */
  const show = async (response: Response, template: string, data: object, page: Page): Promise<void> => {
    const { req: request } = response;
    const signedIn = await findSignedIn(request, response);
    const csrf = csrfTokens.issue(request, response, page.csrfContext ?? signedIn?.sessionId ?? 'anonymous');
    const html = renderPage(
      template,
      { path: request.path, ...data, csrf, errors: errorsByField(page.validationErrors ?? []) },
      { ...page, user: toLayoutUser(response, signedIn) },
    );
    sendHtml(response, html, page);
  };

  const showMessage = (response: Response, message: MessagePage): Promise<void> => {
    const { status = 200, tone = status >= 400 ? 'bad' : undefined } = message;
    return show(response, 'message', { message: { ...message, tone } }, message);
  };

  const hasValidCsrfToken = (request: Request, response: Response, csrfContext: string): boolean =>
    csrfTokens.isValid(request, response, csrfContext, rawField(request, 'csrf'));

  const rejectForm = (response: Response): Promise<void> => {
    const page = localPath(pageOf(response.req), '');
    const links = [page === '' ? wayOn() : { href: page, text: 'Open the page again' }];
    return showMessage(response, { ...errorMessages.formExpired, status: 403, links });
  };

  /** Redirects to the sign-in page if nobody is signed in, or `requireFresh` is not met. */
  const requireSignIn =
    (handler: SignedInHandler, { requireFresh = false, returnTo = pageOf }: FormOptions = {}): RequestHandler =>
    async (request, response) => {
      const signedIn = await findSignedIn(request, response);
      if (!signedIn || (requireFresh && !signedIn.isFresh)) {
        return response.redirect(303, signInPath(returnTo(request), { again: signedIn !== undefined }));
      }
      await handler(request, response, signedIn);
    };

  return {
    show,
    showMessage,

    /** Shows the consequences of a change. `template` has the layout html/views/confirmation.eta. */
    showConfirmation: (
      response: Response,
      template: string,
      data: object,
      { button, cancel, isDangerous = true, hidden, ...page }: ConfirmationPage,
    ): Promise<void> =>
      show(response, template, { ...data, button, cancel, isDangerous, hidden }, { script: true, ...page }),

    findLayoutUser,

    /** A form that needs no sign-in. `csrfContext` must return the CSRF context of the page with the form. */
    form: (csrfContext: (request: Request) => string, handler: RequestHandler): RequestHandler[] => [
      readForm,
      (request, response, next) =>
        hasValidCsrfToken(request, response, csrfContext(request))
          ? handler(request, response, next)
          : rejectForm(response),
    ],

    forSignedIn: (handler: SignedInHandler, options?: Pick<FormOptions, 'requireFresh'>): RequestHandler =>
      requireSignIn(handler, options),

    formForSignedIn: (handler: SignedInHandler, options?: FormOptions): RequestHandler[] => [
      readForm,
      requireSignIn(
        (request, response, signedIn) =>
          hasValidCsrfToken(request, response, signedIn.sessionId)
            ? handler(request, response, signedIn)
            : rejectForm(response),
        options,
      ),
    ],

    /** The sign-out form also works if the user is already signed out. */
    signOutForm: (
      handler: (request: Request, response: Response, signedIn: SignedIn | undefined) => Promise<void>,
    ): RequestHandler[] => [
      readForm,
      async (request, response) => {
        const signedIn = await findSignedIn(request, response);
        if (signedIn && !hasValidCsrfToken(request, response, signedIn.sessionId)) return rejectForm(response);
        return handler(request, response, signedIn);
      },
    ],

    /** Shows errors as pages. Must be the last handler of the router with all pages. */
    errorHandler: createErrorHandler(findLayoutUser),
  };
}

/**
 * Returns the path of a page, or of the page with a form. If this page is unknown, returns `baseUrl`: `/portal` in the
 * portal, and otherwise the empty string, which stands for the page "Your account".
 */
function pageOf(request: Request): string {
  if (request.method === 'GET') return request.originalUrl;
  const referrer = URL.parse(request.get('referer') ?? '');
  const isOurs = referrer !== null && referrer.host === request.get('host');
  return isOurs ? `${referrer.pathname}${referrer.search}` : request.baseUrl;
}
