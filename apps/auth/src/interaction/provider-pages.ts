// What people see of the protocol itself: an error that cannot be sent back to a client, and signing out at a client's wish (OpenID
// Connect RP-Initiated Logout 1.0).
import { renderPage } from '../html/render.ts';
import type { SignedInFrame } from '../html/site.ts';
import type { ProviderPages } from '../oidc/pages.ts';

const friendly: Readonly<Record<string, { title: string; text: string }>> = {
  not_found: { title: 'There is no such page', text: 'Check the address, or go to your account.' },
  temporarily_unavailable: {
    title: 'One moment, please',
    text: 'The service is not available for a moment. Try again shortly.',
  },
  server_error: { title: 'Something went wrong', text: 'The request could not be served. Try again in a moment.' },
};
const ofApplication = {
  title: 'This sign-in cannot go on',
  text: 'The application that sent you here made a request that we cannot serve. You have done nothing wrong; go back to it and try again, or tell its makers what stands below.',
};

export const createProviderPages = (signedInFrame: SignedInFrame): ProviderPages => ({
  async error({ status, error, description }, request, response) {
    const { title, text } =
      friendly[error] ??
      (/expired|session not found|interaction session|mismatch/i.test(description)
        ? {
            title: 'This sign-in has expired',
            text: 'It was open for too long, was finished already, or began in another browser. Go back to the application and start again.',
          }
        : ofApplication);
    const code = error === 'not_found' ? undefined : `${error}: ${description}`;
    const links = error === 'not_found' ? [{ href: '/account', text: 'Your account' }] : [];
    // After a failure of ours without asking for the session: that may be what has failed.
    const signedIn = status < 500 ? await signedInFrame(request, response) : undefined;
    return renderPage('message', { message: { title, text, tone: 'bad', code, links } }, { title, signedIn });
  },
  confirmSignOut: ({ form, clientName }) => {
    // The library's form has no button of its own.
    const [fields = '', end = ''] = form.split('</form>');
    return renderPage('sign-out', { fields, end: `</form>${end}`, clientName }, { title: 'Sign out?' });
  },
  signedOut: async ({ clientName }, request, response) =>
    renderPage(
      'message',
      {
        message: {
          title: clientName ? `You are signed out of ${clientName}` : 'You are signed out',
          text: clientName ? 'You are still signed in at Bay Booking.' : 'You can close this page.',
          tone: 'good',
          links: [{ href: '/sign-in', text: clientName ? 'Your account' : 'Sign in again' }],
        },
      },
      { title: 'Signed out', signedIn: await signedInFrame(request, response) },
    ),
});
