// Signing in at this server's own pages (your account, the portal), and signing out of everything. No client is involved, and the way
// back leads to pages of this server alone.
import type { Request, Response } from 'express';
import { Router } from 'express';
import type { Audit } from '../audit/audit.ts';
import { queryText } from '../html/form-body.ts';
import { localPath } from '../html/local-path.ts';
import type { Site } from '../html/site.ts';
import type { BrowserSessions } from './browser-session.ts';
import type { ProviderLink, SignInContext } from './sign-in-context.ts';
import type { SignInPages } from './sign-in-pages.ts';

export interface OwnRoutesOptions {
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly pages: SignInPages;
  readonly providerLinks: (base: string, query: string) => readonly ProviderLink[];
  readonly audit: Audit;
}

const csrfContext = 'sign-in';

export function ownRoutes({ site, sessions, pages, providerLinks, audit }: OwnRoutesOptions): Router {
  const findContext = async (request: Request, response: Response): Promise<SignInContext | undefined> => {
    const back = localPath(queryText(request, 'return'), '/account');
    const signedIn = await sessions.current(request, response);
    const again = queryText(request, 'again') !== undefined;
    if (signedIn && !signedIn.idle && !again && request.method === 'GET') {
      response.redirect(303, back);
      return undefined;
    }
    const query = `?return=${encodeURIComponent(back)}${signedIn && again ? '&again=1' : ''}`;
    return {
      signIn: `/sign-in${query}`,
      register: `/register${query}`,
      providers: providerLinks('', query),
      csrfContext,
      allowExternalFormTargets: false,
      again: again ? signedIn?.account : undefined,
      finish: (answer) => async () => answer.redirect(303, back),
    };
  };

  const router = Router();
  router.use(pages.routes(findContext, () => csrfContext));
  router.post(
    '/sign-out',
    ...site.formForSignedOut(async (request, response, signedIn) => {
      await sessions.end(request, response);
      if (signedIn) audit.record({ kind: 'session.ended', accountId: signedIn.account.id, address: request.ip });
      response.redirect(303, '/signed-out');
    }),
  );
  router.get('/', (_request, response) => response.redirect(303, '/account'));
  // Where password managers look for the place to change a password (W3C, "A Well-Known URL for Changing Passwords").
  router.get('/.well-known/change-password', (_request, response) => response.redirect(303, '/account#password-title'));
  router.get('/signed-out', (request, response) =>
    site.showMessage(request, response, {
      title: 'You are signed out',
      text: 'Of Bay Booking, in this browser. Applications that you used may still show you as signed in until you sign out there.',
      tone: 'good',
      links: [{ href: '/sign-in', text: 'Sign in again' }],
    }),
  );
  router.use(['/sign-in', '/register', '/sign-out', '/signed-out'], site.showFailure);
  return router;
}
