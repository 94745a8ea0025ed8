// What do all our pages have in common? The frame (who is signed in, how to sign out), the form token, the headers, and what is shown when
// a form is not ours, somebody must sign in first, or something is away. For interaction/, account/ and portal/ alike.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isUnavailable } from '@bay-booking/service/database/database';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import type { BrowserSessions, SignedIn } from '../interaction/browser-session.ts';
import { readForm } from './form-body.ts';
import type { FormTokens } from './form-token.ts';
import { signInAndBack } from './local-path.ts';
import { type PageFrame, renderPage } from './render.ts';
import { type PageOptions, sendHtml } from './response-headers.ts';

export interface Page extends PageOptions {
  readonly title: string;
  readonly width?: 'narrow' | 'wide';
  /** What the page's forms belong to; the session unless said otherwise. */
  readonly csrfContext?: string;
}

export interface MessagePage extends Partial<Page> {
  readonly title: string;
  readonly text: string;
  readonly tone?: 'good' | 'bad' | 'plain';
  readonly links?: readonly { readonly href: string; readonly text: string }[];
}

export type SignedInHandler = (request: Request, response: Response, signedIn: SignedIn) => Promise<void> | void;

export type SignedInFrame = (request: IncomingMessage, response: ServerResponse) => Promise<PageFrame['signedIn']>;

export type Site = ReturnType<typeof createSite>;

export function createSite({ sessions, tokens }: { sessions: BrowserSessions; tokens: FormTokens }) {
  const frameOf = (request: Request, response: Response, signedIn: SignedIn | undefined): PageFrame['signedIn'] =>
    signedIn && {
      name: signedIn.account.name ?? signedIn.account.username,
      csrf: tokens.issue(request, response, signedIn.uid),
    };

  const show = async (request: Request, response: Response, view: string, data: object, page: Page): Promise<void> => {
    const signedIn = await sessions.current(request, response);
    const csrfContext = page.csrfContext ?? signedIn?.uid ?? 'nobody';
    const frame = {
      title: page.title,
      ...(page.width && { width: page.width }),
      signedIn: frameOf(request, response, signedIn),
    };
    const html = renderPage(view, { ...data, csrf: tokens.issue(request, response, csrfContext) }, frame);
    sendHtml(response, html, page);
  };

  const showMessage = (request: Request, response: Response, message: MessagePage): Promise<void> =>
    show(request, response, 'message', { message }, { width: 'narrow', ...message });

  /** For a page that tells a fault: whoever asks is told it all the same where their session cannot be read. */
  const signedInFrame: SignedInFrame = async (request, response) => {
    const signedIn = await sessions.current(request as Request, response as Response).catch(() => undefined);
    return frameOf(request as Request, response as Response, signedIn);
  };

  const refuseForm = (request: Request, response: Response): Promise<void> =>
    showMessage(request, response, {
      status: 403,
      title: 'This form has expired',
      text: 'It was open for too long, or it was not sent from our page. Go back, reload the page and try again.',
      tone: 'bad',
    });

  /** Somebody must be signed in, and have done something lately; else they sign in and come back. */
  const demand =
    (handler: SignedInHandler, mustBeFresh: boolean): RequestHandler =>
    async (request, response) => {
      const signedIn = await sessions.current(request, response);
      if (!signedIn || signedIn.idle || (mustBeFresh && !signedIn.fresh)) {
        // A form that was sent is not sent again: they come back to the page it was on.
        const back = request.method === 'GET' ? request.originalUrl : (localReferrer(request) ?? request.baseUrl);
        response.redirect(303, signInAndBack(back, signedIn !== undefined));
        return;
      }
      await handler(request, response, signedIn);
    };

  return {
    show,
    showMessage,
    signedInFrame,

    /** Handlers of a form whose page said `csrfContext`. */
    form: (csrfContext: (request: Request) => string, handler: RequestHandler): RequestHandler[] => [
      readForm,
      async (request, response, next) => {
        const body = request.body as Record<string, unknown> | undefined;
        if (!tokens.check(request, response, csrfContext(request), body?.csrf)) return refuseForm(request, response);
        return handler(request, response, next);
      },
    ],

    forSignedIn: (handler: SignedInHandler): RequestHandler => demand(handler, false),
    forFreshlySignedIn: (handler: SignedInHandler): RequestHandler => demand(handler, true),

    /** The form of a page for somebody signed in; `fresh` where a secret is changed or shown. */
    formForSignedIn: (handler: SignedInHandler, { fresh = false } = {}): RequestHandler[] => [
      readForm,
      demand(async (request, response, signedIn) => {
        const body = request.body as Record<string, unknown> | undefined;
        if (!tokens.check(request, response, signedIn.uid, body?.csrf)) return refuseForm(request, response);
        return handler(request, response, signedIn);
      }, fresh),
    ],

    /** Signing out: nobody is asked to sign in for that. */
    formForSignedOut: (
      handler: (request: Request, response: Response, signedIn: SignedIn | undefined) => Promise<void>,
    ): RequestHandler[] => [
      readForm,
      async (request, response) => {
        const signedIn = await sessions.current(request, response);
        const body = request.body as Record<string, unknown> | undefined;
        if (signedIn && !tokens.check(request, response, signedIn.uid, body?.csrf))
          return refuseForm(request, response);
        return handler(request, response, signedIn);
      },
    ],

    /** Last of a router of pages. */
    showFailure: (async (
      error: Error & { status?: number; statusCode?: number; expose?: boolean },
      request,
      response,
      next,
    ) => {
      if (response.headersSent) return next(error);
      const away = isUnavailable(error) || error.status === 503;
      const status = away ? 503 : (error.status ?? error.statusCode ?? 500);
      if (status >= 500 && !away) response.locals.logger?.error({ err: error }, 'page failed');
      if (away) response.setHeader('Retry-After', '5');
      const expired = error.name === 'InteractionExpired';
      const message = expired
        ? {
            title: 'This sign-in has expired',
            text: 'It was open for too long, was finished already, or began in another browser. Go back to the application and start again.',
          }
        : away
          ? { title: 'One moment, please', text: 'The service is not available for a moment. Try again shortly.' }
          : status >= 500
            ? {
                title: 'Something went wrong',
                text: 'The page could not be shown. Try again; nothing you typed was lost elsewhere.',
              }
            : { title: 'That did not work', text: 'The request was not understood. Go back and try again.' };
      const facts = { ...message, tone: 'bad' as const, links: [] };
      // After a failure of ours without asking for the session: that may be what has failed.
      const signedIn = status < 500 ? await signedInFrame(request, response) : undefined;
      const reference = response.locals.requestId;
      const html = renderPage('message', { message: { ...facts, reference } }, { title: message.title, signedIn });
      sendHtml(response, html, { status: expired ? 400 : status });
    }) satisfies ErrorRequestHandler,
  };
}

function localReferrer(request: Request): string | undefined {
  const referrer = URL.parse(request.get('referer') ?? '');
  return referrer && referrer.host === request.get('host') ? `${referrer.pathname}${referrer.search}` : undefined;
}
