// Renders the pages that oidc-provider lets our code render: errors that cannot be sent to a client, the sign-out that
// a client requests (OpenID Connect RP-Initiated Logout 1.0), and the end of the sign-in for a device.
import type { IncomingMessage } from 'node:http';
import { type ErrorMessage, errorMessages, wayOn } from '../html/error-page.ts';
import { type FindLayoutUser, renderPage } from '../html/render.ts';
import type { ErrorPage, ProviderPages } from '../oidc/pages.ts';
import { routes } from '../oidc/paths.ts';
import { deviceMessages } from './device/device-pages.ts';

const messagesByError: Readonly<Record<string, ErrorMessage>> = {
  not_found: {
    title: errorMessages.notFound.title,
    text: 'The page does not exist. Check the address, or go to your account.',
  },
  temporarily_unavailable: errorMessages.unavailable,
  server_error: errorMessages.internal,
};

const invalidSignInRequest = {
  title: 'This sign-in cannot continue',
  text:
    'The application that sent you here made a request that we cannot accept. You did nothing wrong. ' +
    'Go back and try again, or send the details below to the people who run the application.',
};

const invalidSignOutRequest = (isSignedIn: boolean): ErrorMessage => ({
  title: 'You could not be signed out',
  text:
    'The application that sent you here made a request that we cannot accept. ' +
    (isSignedIn
      ? 'You are still signed in to Bay Booking. To sign out, use the button at the top of this page.'
      : 'You are not signed in to Bay Booking in this browser.'),
});

const startsWith = ({ url = '' }: IncomingMessage, paths: readonly string[]): boolean =>
  paths.some((path) => URL.parse(url, 'http://local.invalid')?.pathname.startsWith(path));

/** A sign-out begins at the path `routes.end_session` and continues at paths below it, such as `/confirm`. */
const isSignOut = (request: IncomingMessage): boolean => startsWith(request, [routes.end_session]);

const isProtocolPage = (request: IncomingMessage): boolean =>
  startsWith(request, [routes.authorization, routes.end_session, routes.code_verification]);

function messageFor({ error, description }: ErrorPage, request: IncomingMessage, isSignedIn: boolean): ErrorMessage {
  const known = messagesByError[error];
  if (known) return known;
  if (!isProtocolPage(request)) return errorMessages.badRequest;
  if (isSignOut(request)) return invalidSignOutRequest(isSignedIn);
  // oidc-provider has no error code for an interaction that has expired or belongs to another session of the browser.
  // Only the description of the error names the reason.
  const cannotContinue = /expired|session not found|interaction session|mismatch/i.test(description);
  return cannotContinue ? errorMessages.signInExpired : invalidSignInRequest;
}

export const createProviderPages = (findLayoutUser: FindLayoutUser): ProviderPages => ({
  async error(page, request, response) {
    const { status, error, description, client, homePage, redirectUri } = page;
    // After a server error, the page does not read the session, because reading the session may have caused the error.
    const user = status < 500 ? await findLayoutUser(request, response) : undefined;
    const message = messageFor(page, request, user !== undefined);
    const { title, text } = message;
    const isNotFound = error === 'not_found';
    const details = [
      ...(isNotFound ? [] : [{ name: 'Error', value: `${error}: ${description}` }]),
      ...(client ? [{ name: 'Application', value: client }] : []),
      ...(redirectUri ? [{ name: 'Return address', value: redirectUri }] : []),
    ];
    const links = isNotFound
      ? [{ href: '/account', text: 'Your account' }]
      : message === errorMessages.signInExpired
        ? [wayOn({ name: client, homePage })]
        : [];
    return renderPage('message', { message: { title, text, tone: 'bad', details, links } }, { title, user });
  },

  confirmSignOut({ form, clientName }) {
    // The form of oidc-provider has no buttons. The template sign-out.eta adds two buttons before the end of the form.
    const [formStart = '', rest = ''] = form.split('</form>');
    return renderPage('sign-out', { formStart, formEnd: `</form>${rest}`, clientName }, { title: 'Sign out?' });
  },

  async signedOut({ clientName }, request, response) {
    const user = await findLayoutUser(request, response);
    // oidc-provider names the client only if the user has signed out of this client alone.
    const title = clientName ? `You are signed out of ${clientName}` : 'You are signed out';
    const message = user
      ? {
          title: clientName ? title : 'You are still signed in',
          text: clientName ? 'You are still signed in to Bay Booking.' : 'You can close this page.',
          links: [{ href: '/account', text: 'Your account' }],
        }
      : { title, text: 'You can close this page.', links: [{ href: '/sign-in', text: 'Sign in again' }] };
    return renderPage('message', { message: { ...message, tone: 'good' } }, { title: message.title, user });
  },

  async deviceConnected({ clientName }, request, response) {
    const title = clientName ? `${clientName} is connected` : deviceMessages.connected.title;
    const message = { title, text: deviceMessages.connected.text, tone: 'good' };
    return renderPage('message', { message }, { title, user: await findLayoutUser(request, response) });
  },

  async deviceNotConnected({ reason }, request, response) {
    const { title, text } = deviceMessages[reason];
    // The user has chosen to deny the access, so this is not an error.
    const isDenied = reason === 'denied';
    const links = isDenied ? [] : [{ href: routes.code_verification, text: 'Enter a code' }];
    const message = { title, text, links, ...(!isDenied && { tone: 'bad' }) };
    return renderPage('message', { message }, { title, user: await findLayoutUser(request, response) });
  },
});
