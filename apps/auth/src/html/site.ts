// Sends the pages of this site, and protects their handlers. The handler of a form runs only if the CSRF token of the
// form is valid, except for the sign-out form of a user who is already signed out. The handler of a page that requires
// a sign-in runs only if the user is signed in.
import type { Request, RequestHandler, Response } from 'express';
import type { CsrfTokens } from './csrf-tokens.ts';
import { errorMessages } from './error-messages.ts';
import { createErrorHandler } from './error-page.ts';
import { rawField, readForm } from './form-body.ts';
import { signInPath } from './local-path.ts';
import { type FindLayoutUser, type Layout, type LayoutUser, renderPage } from './render.ts';
import { type HtmlOptions, sendHtml } from './response-headers.ts';
import type { FindSignedIn, SignedIn } from './signed-in.ts';
import { errorsByField, type ValidationError } from './validation-errors.ts';

export interface Page extends HtmlOptions, Omit<Layout, 'user'> {
  /**
   * The value to which the CSRF token of the page is bound. Default: the id of the signed-in user's session, or
   * `anonymous` if nobody is signed in. No form accepts a token for `anonymous`. A page with a form for users who are
   * not signed in must therefore set this value.
   */
  readonly csrfContext?: string | undefined;
  /** The errors of a form. Templates get the list as `validationErrors`, and the errors by field name as `errors`. */
  readonly validationErrors?: readonly ValidationError[] | undefined;
}

export interface MessagePage extends Page {
  readonly text: string;
  readonly tone?: 'good' | 'bad';
  readonly links?: readonly { readonly href: string; readonly text: string }[];
}

export type SignedInHandler = (request: Request, response: Response, signedIn: SignedIn) => Promise<void> | void;

export interface SiteOptions {
  readonly findSignedIn: FindSignedIn;
  readonly csrfTokens: CsrfTokens;
}

export type Site = ReturnType<typeof createSite>;

export function createSite({ findSignedIn, csrfTokens }: SiteOptions) {
  const toLayoutUser = (request: Request, response: Response, signedIn: SignedIn | undefined): LayoutUser | undefined =>
    signedIn && {
      name: signedIn.account.name ?? signedIn.account.username,
      csrf: csrfTokens.issue(request, response, signedIn.sessionId),
    };

  const findLayoutUser: FindLayoutUser = async (nodeRequest, nodeResponse) => {
    // The pages of oidc-provider call this function too. The library declares the request and the response with Node's
    // types, but the objects are Express objects, because oidc-provider runs inside our Express app.
    const request = nodeRequest as Request;
    const response = nodeResponse as Response;
    // If the session cannot be read, the page is shown without the user. An error page must not fail for this reason.
    const signedIn = await findSignedIn(request, response).catch(() => undefined);
    return toLayoutUser(request, response, signedIn);
  };

  /** Sends a page. `renderPage` documents the parameter `template`. */
  const show = async (
    request: Request,
    response: Response,
    template: string,
    data: object,
    page: Page,
  ): Promise<void> => {
    const signedIn = await findSignedIn(request, response);
    const { title, width, script, validationErrors = [] } = page;
    const csrf = csrfTokens.issue(request, response, page.csrfContext ?? signedIn?.sessionId ?? 'anonymous');
    const html = renderPage(
      template,
      { ...data, csrf, validationErrors, errors: errorsByField(validationErrors) },
      {
        // Screen readers read the title first, so it says whether the form has errors.
        title: validationErrors.length > 0 ? `Error: ${title}` : title,
        user: toLayoutUser(request, response, signedIn),
        width,
        script,
      },
    );
    sendHtml(response, html, page);
  };

  const showMessage = (request: Request, response: Response, message: MessagePage): Promise<void> =>
    show(request, response, 'message', { message }, message);

  const hasValidCsrfToken = (request: Request, response: Response, csrfContext: string): boolean =>
    csrfTokens.isValid(request, response, csrfContext, rawField(request, 'csrf'));

  const rejectForm = (request: Request, response: Response): Promise<void> =>
    showMessage(request, response, { ...errorMessages.formExpired, status: 403, tone: 'bad' });

  /**
   * Runs the handler only if the user is signed in and the session is not idle. With `requireFresh`, the sign-in must
   * also be fresh. Otherwise the response redirects to the sign-in page, from which the user returns later.
   */
  const requireSignIn =
    (handler: SignedInHandler, { requireFresh = false } = {}): RequestHandler =>
    async (request, response) => {
      const signedIn = await findSignedIn(request, response);
      if (!signedIn || signedIn.isIdle || (requireFresh && !signedIn.isFresh)) {
        // A form cannot be sent again after signing in, so the user returns to the page with the form. If this page is
        // unknown, the user goes to `baseUrl`: `/portal` at unknown paths of the portal, and otherwise empty, which
        // stands for the page "Your account".
        const returnTo = request.method === 'GET' ? request.originalUrl : (localReferrer(request) ?? request.baseUrl);
        response.redirect(303, signInPath(returnTo, { again: signedIn !== undefined }));
        return;
      }
      await handler(request, response, signedIn);
    };

  return {
    show,
    showMessage,
    findLayoutUser,

    /**
     * Returns the handlers for a form that needs no sign-in. `csrfContext` must return the CSRF context with which the
     * page of the form was shown.
     */
    form: (csrfContext: (request: Request) => string, handler: RequestHandler): RequestHandler[] => [
      readForm,
      (request, response, next) =>
        hasValidCsrfToken(request, response, csrfContext(request))
          ? handler(request, response, next)
          : rejectForm(request, response),
    ],

    /** Returns the handler for a page of a signed-in user. Such a page does not require a fresh sign-in. */
    forSignedIn: (handler: SignedInHandler): RequestHandler => requireSignIn(handler),

    /**
     * Returns the handlers for a form of a signed-in user. A form that shows a secret, or changes the ways to sign in,
     * must set `requireFresh`.
     */
    formForSignedIn: (handler: SignedInHandler, { requireFresh = false } = {}): RequestHandler[] => [
      readForm,
      requireSignIn(
        (request, response, signedIn) =>
          hasValidCsrfToken(request, response, signedIn.sessionId)
            ? handler(request, response, signedIn)
            : rejectForm(request, response),
        { requireFresh },
      ),
    ],

    /** Returns the handlers for the sign-out form, which also works if the user is already signed out. */
    signOutForm: (
      handler: (request: Request, response: Response, signedIn: SignedIn | undefined) => Promise<void>,
    ): RequestHandler[] => [
      readForm,
      async (request, response) => {
        const signedIn = await findSignedIn(request, response);
        if (signedIn && !hasValidCsrfToken(request, response, signedIn.sessionId)) return rejectForm(request, response);
        return handler(request, response, signedIn);
      },
    ],

    /** Shows errors as pages. This handler must be the last handler of a router with pages. */
    errorHandler: createErrorHandler(findLayoutUser),
  };
}

/** Returns the path of the page from which a form was sent, if the header `Referer` names a page of this server. */
function localReferrer(request: Request): string | undefined {
  const referrer = URL.parse(request.get('referer') ?? '');
  return referrer && referrer.host === request.get('host') ? `${referrer.pathname}${referrer.search}` : undefined;
}
