// Sends an error page if the handler of a page throws an error. Defines the titles and texts of general error pages.
import { isUnavailable } from '@bay-booking/service/database/database';
import { noteCause } from '@bay-booking/service/http/app';
import type { ErrorRequestHandler } from 'express';
import { type FindLayoutUser, type PageLink, renderPage } from './render.ts';
import { sendHtml } from './response-headers.ts';

/** The value of Retry-After in responses with the status 503. */
const retryAfterSeconds = 5;

interface PageError extends Error {
  /** The status of an expired sign-in, of a full queue of passwords, or from the parser of bodies. */
  readonly status?: number;
  /** Express sets this status, for example if it cannot decode the URL. */
  readonly statusCode?: number;
  /** The application of an expired sign-in, if it is known. */
  readonly application?: Application | undefined;
}

interface Application {
  readonly name?: string | undefined;
  readonly homePage?: string | undefined;
}

/** Where a user can go on whose sign-in has expired. */
export const wayOn = ({ name = 'the application', homePage }: Application = {}): PageLink =>
  homePage === undefined ? { href: '/portal', text: 'Go to the portal' } : { href: homePage, text: `Back to ${name}` };

/** `findLayoutUser` finds the user whose name the error page shows. */
export const createErrorHandler =
  (findLayoutUser: FindLayoutUser): ErrorRequestHandler =>
  async (error: PageError, request, response, next) => {
    if (response.headersSent) return next(error);
    const status = isUnavailable(error) ? 503 : (error.status ?? error.statusCode ?? 500);
    if (status >= 500 && status !== 503) response.locals.logger?.error({ err: error }, 'page failed');
    if (status === 503) noteCause(response, error);
    if (status === 503) response.setHeader('Retry-After', String(retryAfterSeconds));
    const { title, text } = messageFor(error, status);
    // Reading the session may have caused a server error.
    const user = status < 500 ? await findLayoutUser(request, response) : undefined;
    const details = [{ name: 'Reference', value: response.locals.requestId as string }];
    const links = isExpired(error) ? [wayOn(error.application)] : [];
    const html = renderPage('message', { message: { title, text, tone: 'bad', details, links } }, { title, user });
    sendHtml(response, html, { status });
  };

/** The interaction has ended or belongs to another browser (oidc/authorization/interactions.ts). */
const isExpired = ({ name }: PageError): boolean => name === 'InteractionExpired';

function messageFor(error: PageError, status: number) {
  if (isExpired(error)) return errorMessages.signInExpired;
  if (status === 503) return errorMessages.unavailable;
  return status >= 500 ? errorMessages.internal : errorMessages.badRequest;
}

export interface ErrorMessage {
  readonly title: string;
  readonly text: string;
}

export const errorMessages = {
  signInExpired: {
    title: 'This sign-in has expired',
    text:
      'It was open for too long, is already complete, or was started in another browser. ' +
      'Go back to the page where you began to sign in, and start again.',
  },
  formExpired: {
    title: 'This form has expired',
    text: 'It was open for too long, or it was not sent from our page. Go back, reload the page and try again.',
  },
  notFound: {
    title: 'Page not found',
    text: 'The page does not exist, or it belongs to a facility or an account that is not yours. Check the address.',
  },
  badRequest: { title: 'Invalid request', text: 'The request could not be read. Go back and try again.' },
  unavailable: {
    title: 'Temporarily unavailable',
    text: 'The service is temporarily unavailable. Try again in a moment.',
  },
  internal: { title: 'Something went wrong', text: 'The page could not be shown. Try again in a moment.' },
} as const satisfies Readonly<Record<string, ErrorMessage>>;
