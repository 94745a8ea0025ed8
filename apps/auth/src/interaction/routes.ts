// Serves the pages of an authorization request, where the user signs in, registers, gives consent or cancels
// (specification, "Authorization code flow", step 2). Then the browser returns to the authorization endpoint.
import type { Request, Response } from 'express';
import { Router } from 'express';
import { freshSignInPath, missingFactorPath, signInPath } from '../html/local-path.ts';
import { hasTwoFactors } from '../html/signed-in.ts';
import type { Interaction } from '../oidc/authorization/interactions.ts';
import type { PageServices } from '../services.ts';
import { createConsentPage } from './consent/consent-page.ts';
import { providerLinks, type SignInContext } from './sign-in/sign-in-context.ts';
import type { SignInPages } from './sign-in/sign-in-pages.ts';

/** The CSRF tokens of the forms are bound to the interaction. */
const csrfContext = (request: Request): string => String(request.params.uid);

export function interactionRoutes(services: PageServices, signInPages: SignInPages): Router {
  const { interactions, site, providers, sessions, factors, askForMissingFactor } = services;

  const consentPage = createConsentPage(services);
  const signInContextOf = async (interaction: Interaction): Promise<SignInContext> => {
    const base = `/interaction/${interaction.uid}`;
    const client = await interaction.findClient();
    return {
      signIn: `${base}/sign-in`,
      register: `${base}/register`,
      cancel: `${base}/cancel`,
      // If a device waits for the tokens, this browser does not return to the client.
      cancelDestination: interaction.isForDevice ? undefined : client?.name,
      destination: client?.name,
      providers: providerLinks(providers.values(), base),
      csrfContext: interaction.uid,
      allowExternalFormTargets: true,
      loginHint: interaction.loginHint,
      next: { interactionUid: interaction.uid },
    };
  };
  const findSignInContext = async (request: Request, response: Response): Promise<SignInContext> =>
    signInContextOf(await interactions.find(request, response));

  /**
   * Asks a signed-in user for the second factor, or for its set-up, after which the browser returns here. Returns false
   * if the user has to sign in again.
   */
  const requireSecondFactor = async (request: Request, response: Response, { uid, accountId, signIn }: Interaction) => {
    const signedIn = await sessions.current(request, response);
    if (!signedIn || signedIn.account.id !== accountId) return false;
    if (hasTwoFactors(signedIn)) {
      const { signedInAt, acr, amr } = signedIn;
      await signIn(response, { accountId, signedInAt, acr, amr });
    } else if (await factors.hasSecondFactor(accountId)) {
      await askForMissingFactor(request, response, signedIn, { interactionUid: uid });
    } else {
      response.redirect(303, missingFactorPath(`/interaction/${uid}`, false));
    }
    return true;
  };

  const router = Router();
  router.use('/interaction/:uid', signInPages.routes(findSignInContext, csrfContext));
  router.get('/interaction/:uid', async (request, response) => {
    const interaction = await interactions.find(request, response);
    const { uid, prompt, socialProvider } = interaction;
    if (prompt === 'consent') return consentPage.show(response, interaction);
    if (interaction.isMissingFactor && (await requireSecondFactor(request, response, interaction))) return;
    // The request chose a social provider with `acr_values=idp:NAME`.
    if (socialProvider !== undefined) return response.redirect(303, `/interaction/${uid}/social/${socialProvider}`);
    return signInPages.showSignIn(response, await signInContextOf(interaction));
  });
  router.get('/interaction/:uid/fresh', async (request, response) => {
    const { uid, prompt, beganAt, signIn } = await interactions.find(request, response);
    const signedIn = prompt === 'login' ? await sessions.current(request, response) : undefined;
    if (!signedIn) return response.redirect(303, `/interaction/${uid}`);
    const { account, signedInAt, acr, amr } = signedIn;
    if (signedInAt < beganAt) return response.redirect(303, signInPath(freshSignInPath(uid), { again: true }));
    return signIn(response, { accountId: account.id, signedInAt, acr, amr });
  });
  router.post(
    '/interaction/:uid/consent',
    ...site.form(csrfContext, async (request, response) =>
      consentPage.submit(request, response, await interactions.find(request, response)),
    ),
  );
  router.post(
    '/interaction/:uid/cancel',
    ...site.form(csrfContext, async (request, response) => {
      const interaction = await interactions.find(request, response);
      await interaction.deny(response, 'the sign-in was cancelled');
    }),
  );
  return router;
}
