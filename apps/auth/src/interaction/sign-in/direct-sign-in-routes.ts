// Serves the pages where users sign in or register without a client, and sign out. After signing in, a user returns to
// the page in the query parameter `return`.
import type { Request, Response } from 'express';
import { Router } from 'express';
import { queryText } from '../../html/forms.ts';
import { localPath } from '../../html/local-path.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { PageServices } from '../../services.ts';
import type { SocialProvider } from '../../social/provider.ts';
import { providerLinks, type SignInContext } from './sign-in-context.ts';
import { passkeyOptionsPath, type SignInPages } from './sign-in-pages.ts';

const csrfContext = 'sign-in';

export function directSignInRoutes(services: PageServices, signInPages: SignInPages): Router {
  const { site, sessions, providers, passkeys, socialIdentities, audit } = services;

  /** A user who is signed in can confirm it at the linked providers that can make them sign in again. */
  const findProviders = async (confirming: SignedIn | undefined): Promise<readonly SocialProvider[]> => {
    if (!confirming) return [...providers.values()];
    const linked = await socialIdentities.list(confirming.account.id);
    return [...providers.values()].filter(
      ({ name, canConfirm }) => canConfirm && linked.some(({ provider }) => provider === name),
    );
  };

  /** Redirects a user who is already signed in, unless the query contains `again`. */
  const findSignInContext = async (request: Request, response: Response): Promise<SignInContext | undefined> => {
    const returnTo = localPath(queryText(request, 'return'), '/account');
    const signedIn = await sessions.current(request, response);
    const again = queryText(request, 'again') !== undefined;
    if (signedIn && !again && request.method === 'GET') {
      response.redirect(303, returnTo);
      return undefined;
    }
    const reauthenticate = again ? signedIn : undefined;
    const query = `?return=${encodeURIComponent(returnTo)}${reauthenticate ? '&again=1' : ''}`;
    return {
      signIn: `/sign-in${query}`,
      register: `/register${query}`,
      destination: /^\/portal(?![\w-])/.test(returnTo) ? 'the portal' : undefined,
      providers: providerLinks(await findProviders(reauthenticate), '', query),
      csrfContext,
      // The next redirects lead to the client.
      allowExternalFormTargets: returnTo.startsWith('/interaction/'),
      reauthenticate,
      next: { returnTo },
    };
  };

  const router = Router();
  router.use(signInPages.routes(findSignInContext, () => csrfContext));
  router.get(passkeyOptionsPath, async (_request, response) => {
    response.set('Cache-Control', 'no-store').json(await passkeys.signInOptions());
  });
  router.post(
    '/sign-out',
    ...site.signOutForm(async (request, response, signedIn) => {
      await sessions.end(request, response);
      if (signedIn) audit.record({ kind: 'session.ended', accountId: signedIn.account.id, address: request.ip });
      response.redirect(303, '/signed-out');
    }),
  );
  router.get('/', (_request, response) => response.redirect(303, '/account'));
  // Password managers open this path to change a password (W3C, "A Well-Known URL for Changing Passwords").
  router.get('/.well-known/change-password', (_request, response) => response.redirect(303, '/account#password-title'));
  router.get('/signed-out', async (request, response) => {
    // The page may be reloaded after a new sign-in.
    if (await sessions.current(request, response)) return response.redirect(303, '/account');
    await site.showMessage(response, {
      title: 'You are signed out',
      text: 'You are signed out in this browser. You may still be signed in to applications that you used.',
      tone: 'good',
      links: [{ href: '/sign-in', text: 'Sign in again' }],
    });
  });
  return router;
}
