// Serves the sign-in at a social provider: the redirect to the provider and the callback (specification, "Social
// identity provider login").
import { type Request, type Response, Router } from 'express';
import type { SocialIdentity } from '../../accounts/social-identity-store.ts';
import { errorMessages, wayOn } from '../../html/error-page.ts';
import { queryText } from '../../html/forms.ts';
import { freshSignInPath, localPath, signInPath } from '../../html/local-path.ts';
import type { PageServices } from '../../services.ts';
import { createAuthorizationFlow, type Freshness, newBrowserSecret } from '../../social/authorization-flow.ts';
import { titleOfProvider } from '../../social/settings.ts';
import { type FlowPurpose, otherPurposes } from '../../social/store.ts';
import { destinationOf } from './sign-in-context.ts';
import { type Failure, failurePage, pageWithProviders, unknownProviderPage } from './social-failure-pages.ts';

/** The cookie that identifies the browser at the callback. */
const cookieName = '_social';
/** The lifetime of the cookie, which is also the lifetime of the stored flow. */
const cookieLifetimeSeconds = 3600;

const accountLinks = [{ href: '/account', text: 'Back to your account' }];

export type SocialRoutes = ReturnType<typeof createSocialRoutes>;

export function createSocialRoutes(services: PageServices) {
  const { cookies, interactions, providers, site, sessions } = services;
  const { socialIdentities, audit, emails, factors, startSession } = services;

  const authorizationFlow = createAuthorizationFlow(services);
  const showFailure = (response: Response, name: string, purpose: FlowPurpose, failure: Failure): Promise<void> =>
    site.showMessage(response, failurePage(name, titleOfProvider(providers, name), purpose, failure));

  /** Redirects the browser to the provider. The page "Your account" also calls this function. */
  const begin = async (
    request: Request,
    response: Response,
    name: string,
    purpose: FlowPurpose,
    mustSignIn = purpose.confirmAccountId !== null,
  ): Promise<void> => {
    // A second flow in the same browser uses the same secret, so that the first flow still works.
    const browserSecret = cookies.get(request, response, cookieName) ?? newBrowserSecret();
    let url: URL | undefined;
    try {
      url = await authorizationFlow.begin(name, browserSecret, purpose, mustSignIn);
    } catch (err) {
      response.locals.logger?.warn({ err, provider: name }, 'social provider cannot be reached');
      return showFailure(response, name, purpose, 'unavailable');
    }
    if (!url) return site.showMessage(response, unknownProviderPage(purpose));
    cookies.set(request, response, { name: cookieName, value: browserSecret, maxAge: cookieLifetimeSeconds });
    response.redirect(303, url.href);
  };

  /**
   * Redirects a user who cancelled to the page where they chose the provider. If the client chose it with `acr_values`,
   * there is no such page, and the user returns to the client.
   */
  const returnAfterCancel = async (response: Response, name: string, purpose: FlowPurpose): Promise<void> => {
    if (purpose.linkAccountId !== null) return response.redirect(303, '/account?done=link-cancelled');
    const query = `cancelled=${encodeURIComponent(name)}`;
    const page = pageWithProviders(purpose);
    // If there is no interaction, the URL already contains the parameter `return`.
    if (purpose.interactionUid === null) return response.redirect(303, `${page}&${query}`);
    const interaction = await interactions.findByUid(purpose.interactionUid);
    if (interaction.socialProvider === name) return interaction.deny(response, 'the user cancelled at the provider');
    response.redirect(303, `${page}?${query}`);
  };

  const linkIdentity = async (request: Request, response: Response, accountId: string, identity: SocialIdentity) => {
    const { provider } = identity;
    const title = titleOfProvider(providers, provider);
    const showNotAdded = (text: string) =>
      site.showMessage(response, { status: 409, title: `${title} was not added`, text, links: accountLinks });
    const signedIn = await sessions.current(request, response);
    // The user may have signed out, or signed in to another account, since the flow began.
    if (signedIn?.account.id !== accountId) {
      return showNotAdded('You are no longer signed in to the same account. Sign in to it and try again.');
    }
    const outcome = await socialIdentities.link(accountId, identity);
    if (outcome === 'taken') {
      return showNotAdded(`That ${title} account already belongs to another Bay Booking account.`);
    }
    if (outcome === 'unconfirmed') {
      return showNotAdded('Confirm your e-mail address first. Then add the provider again.');
    }
    audit.record({ kind: 'social.linked', accountId, address: request.ip, detail: { provider } });
    await emails.sendSocialLinked(signedIn.account, title);
    response.redirect(303, '/account?done=linked');
  };

  /** An old session at the provider must not make ours fresh. */
  const rejectOldSignIn = (request: Request, response: Response, name: string, purpose: FlowPurpose): Promise<void> => {
    const detail = { provider: name, reason: 'old sign-in at the provider' };
    audit.record({ kind: 'sign-in.refused', address: request.ip, detail });
    return showFailure(response, name, purpose, 'failed');
  };

  /** Signs in the user who owns the social identity. The first sign-in creates an account. */
  const signIn = async (
    request: Request,
    response: Response,
    purpose: FlowPurpose,
    { identity, isFresh, signedInAt }: { identity: SocialIdentity } & Freshness,
  ) => {
    const { provider: name } = identity;
    const { interactionUid } = purpose;
    // An interaction that is over must not sign the user in.
    const interaction = interactionUid === null ? undefined : await interactions.findByUid(interactionUid);
    const needsProof = interaction?.needsFreshSignIn === true && isFresh !== true;
    if (needsProof && isFresh === false) return rejectOldSignIn(request, response, name, purpose);
    const account = await socialIdentities.findOrCreateAccount(identity);
    if (account.disabledAt) {
      const detail = { reason: 'account disabled' };
      audit.record({ kind: 'sign-in.refused', accountId: account.id, address: request.ip, detail });
      return showFailure(response, name, purpose, 'refused');
    }
    // `fed` (federated) means that another provider has authenticated the user.
    const user = { account, signedInAt, acr: `idp:${name}`, amr: ['fed'] };
    // A second factor proves that the user is there.
    if (interaction && needsProof && !(await factors.hasSecondFactor(account.id))) {
      return startSession(request, response, user, { returnTo: freshSignInPath(interaction.uid) });
    }
    await startSession(request, response, user, destinationOf(purpose));
  };

  /** Makes the sign-in fresh of a user who has just signed in again at the provider. */
  const confirm = async (request: Request, response: Response, purpose: FlowPurpose, identity: SocialIdentity) => {
    const { provider: name } = identity;
    const signedIn = await sessions.current(request, response);
    const account = await socialIdentities.findAccount(identity);
    if (!signedIn || signedIn.account.id !== purpose.confirmAccountId || account?.id !== purpose.confirmAccountId) {
      const title = titleOfProvider(providers, name);
      const detail = { provider: name, reason: 'confirmed by another account' };
      audit.record({ kind: 'sign-in.refused', accountId: signedIn?.account.id, address: request.ip, detail });
      return site.showMessage(response, {
        status: 409,
        title: 'Your sign-in is not confirmed',
        text: `That ${title} account does not belong to the account that you are signed in to.`,
        links: [{ href: pageWithProviders(purpose), text: 'Try again' }],
      });
    }
    const user = { account, acr: `idp:${name}`, amr: ['fed'] };
    await startSession(request, response, user, { returnTo: purpose.returnTo ?? '/account' });
  };

  const router = Router();
  router.get('/interaction/:uid/social/:name', async (request, response) => {
    const { uid, needsFreshSignIn } = await interactions.find(request, response);
    const purpose = { ...otherPurposes, interactionUid: uid };
    await begin(request, response, request.params.name, purpose, needsFreshSignIn);
  });
  router.get('/social/:name', async (request, response) => {
    const returnTo = localPath(queryText(request, 'return'), '/account');
    // A user who is signed in can only confirm it, because an old session at the provider must not make ours fresh.
    const { name } = request.params;
    const signedIn = await sessions.current(request, response);
    if (signedIn && providers.get(name)?.canConfirm === false) {
      return response.redirect(303, signInPath(returnTo, { again: true }));
    }
    const confirmAccountId = signedIn?.account.id ?? null;
    await begin(request, response, name, { ...otherPurposes, returnTo, confirmAccountId });
  });
  router.get('/social/:name/callback', async (request, response) => {
    const { name } = request.params;
    // A browser without the cookie has begun no flow, so no flow is found for the empty string.
    const browserSecret = cookies.get(request, response, cookieName) ?? '';
    const { search } = new URL(request.originalUrl, 'http://local.invalid');
    const result = await authorizationFlow.callback(name, browserSecret, search);
    if (!result) {
      const page = { status: 400, ...errorMessages.signInExpired, links: [wayOn()] };
      return site.showMessage(response, page);
    }
    const { flow } = result;
    if ('failure' in result) {
      const { failure, reason } = result;
      response.locals.logger?.warn({ provider: name, reason }, 'social sign-in was not completed');
      audit.record({ kind: 'sign-in.refused', address: request.ip, detail: { provider: name, reason: failure } });
      return failure === 'cancelled'
        ? returnAfterCancel(response, name, flow)
        : showFailure(response, name, flow, failure);
    }
    const { identity } = result;
    if (flow.linkAccountId !== null) return linkIdentity(request, response, flow.linkAccountId, identity);
    if (flow.confirmAccountId === null) return signIn(request, response, flow, result);
    if (!result.isFresh) return rejectOldSignIn(request, response, name, flow);
    return confirm(request, response, flow, identity);
  });
  return { router, begin };
}
