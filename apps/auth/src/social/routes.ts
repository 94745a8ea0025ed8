// The pages around a social sign-in: off to the provider, from an authorization request or from a page of ours, and back. The account is
// made if none exists (specification, "Social identity provider login"); when the provider says no, a page says so and how to go on.
import { type Request, type Response, Router } from 'express';
import type { SocialIdentity, SocialIdentityStore } from '../accounts/social-identity-store.ts';
import type { Account } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import { queryText } from '../html/form-body.ts';
import { localPath, signInAndBack } from '../html/local-path.ts';
import type { Site } from '../html/site.ts';
import type { BrowserSessions } from '../interaction/browser-session.ts';
import type { SignInPages } from '../interaction/sign-in-pages.ts';
import type { BrowserCookies } from '../oidc/cookies.ts';
import type { Interactions } from '../oidc/interactions.ts';
import { type AuthorizationFlow, newBrowserSecret, type Origin } from './authorization-flow.ts';
import type { SocialProviders } from './settings.ts';
import type { Attempt } from './store.ts';

const cookieName = '_social';

export interface SocialRoutesOptions {
  readonly cookies: BrowserCookies;
  readonly interactions: Interactions;
  readonly providers: SocialProviders;
  readonly authorizationFlow: AuthorizationFlow;
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly pages: SignInPages;
  readonly socialIdentities: SocialIdentityStore;
  readonly findOrCreateSocialAccount: (identity: SocialIdentity) => Promise<Account>;
  readonly audit: Audit;
}

export type SocialRoutes = ReturnType<typeof createSocialRoutes>;

export function createSocialRoutes(options: SocialRoutesOptions) {
  const { cookies, interactions, providers, authorizationFlow, site, sessions, pages, socialIdentities, audit } =
    options;
  const titleOf = (name: string): string => providers.get(name)?.title ?? name;

  const retryOf = ({ provider: name, interactionUid, returnTo, linkAccountId }: Attempt) =>
    interactionUid
      ? { again: `/interaction/${interactionUid}/social/${name}`, otherwise: `/interaction/${interactionUid}/sign-in` }
      : linkAccountId
        ? { again: undefined, otherwise: '/account' }
        : {
            again: `/social/${name}?return=${encodeURIComponent(returnTo ?? '/account')}`,
            otherwise: signInAndBack(returnTo ?? '/account', false),
          };

  const showRefusal = (request: Request, response: Response, attempt: Attempt, kind: 'denied' | 'failed' | 'away') => {
    const title = titleOf(attempt.provider);
    const { again, otherwise } = retryOf(attempt);
    const words = {
      denied: [`${title} did not sign you in`, `You, or ${title}, chose not to go on. Nothing was changed.`],
      failed: [
        `Signing in with ${title} did not work`,
        `What ${title} answered could not be used. Try again in a moment.`,
      ],
      away: [
        `${title} cannot be reached`,
        `It does not answer at the moment. Try again shortly, or sign in another way.`,
      ],
    }[kind] as [string, string];
    return site.showMessage(request, response, {
      status: kind === 'denied' ? 403 : 502,
      title: words[0],
      text: words[1],
      tone: 'bad',
      links: [
        ...(again ? [{ href: again, text: `Try ${title} again` }] : []),
        { href: otherwise, text: attempt.linkAccountId ? 'Back to your account' : 'Other ways to sign in' },
      ],
    });
  };

  /** Sends the browser off; with a form, the page that had it must allow the provider's origin. */
  const begin = async (request: Request, response: Response, name: string, origin: Origin): Promise<void> => {
    const browser = cookies.get(request, response, cookieName) ?? newBrowserSecret();
    const attempt = { ...origin, provider: name, nonce: '', codeVerifier: '' };
    let address: URL | undefined;
    try {
      address = await authorizationFlow.begin(name, browser, origin);
    } catch (err) {
      response.locals.logger?.warn({ err, provider: name }, 'social provider cannot be reached');
      return showRefusal(request, response, attempt, 'away');
    }
    if (!address) {
      return site.showMessage(request, response, {
        status: 404,
        title: 'There is no such provider',
        text: 'Choose another way to sign in.',
        tone: 'bad',
        links: [{ href: retryOf(attempt).otherwise, text: 'Sign in' }],
      });
    }
    cookies.set(request, response, { name: cookieName, value: browser, maxAge: 3600 });
    response.redirect(303, address.href);
  };

  const link = async (request: Request, response: Response, accountId: string, identity: SocialIdentity) => {
    const signedIn = await sessions.current(request, response);
    const title = titleOf(identity.provider);
    // Whoever signed out, or in as somebody else, meanwhile must not have the identity added behind their back.
    const outcome = signedIn?.account.id === accountId ? await socialIdentities.link(accountId, identity) : 'nobody';
    if (outcome === 'linked') {
      audit.record({ kind: 'social.linked', accountId, address: request.ip, detail: { provider: identity.provider } });
      return response.redirect(303, '/account?done=linked');
    }
    return site.showMessage(request, response, {
      status: 409,
      title: `${title} was not added`,
      text:
        outcome === 'taken'
          ? `That ${title} account signs in to another Bay Booking account already.`
          : 'You are not signed in as you were when you set out.',
      tone: 'bad',
      links: [{ href: '/account', text: 'Back to your account' }],
    });
  };

  const router = Router();
  router.get('/interaction/:uid/social/:name', async (request, response) => {
    const interaction = await interactions.find(request, response);
    const origin = { interactionUid: interaction.uid, returnTo: null, linkAccountId: null };
    await begin(request, response, request.params.name, origin);
  });
  router.get('/social/:name', (request, response) => {
    const returnTo = localPath(queryText(request, 'return'), '/account');
    return begin(request, response, request.params.name, { interactionUid: null, returnTo, linkAccountId: null });
  });
  router.get('/social/:name/callback', async (request, response) => {
    const { name } = request.params;
    const browser = cookies.get(request, response, cookieName) ?? '';
    const query = new URL(request.originalUrl, 'http://here.invalid').search;
    const result = providers.has(name) ? await authorizationFlow.callback(name, browser, query) : undefined;
    if (!result) {
      return site.showMessage(request, response, {
        status: 400,
        title: 'This sign-in has expired',
        text: 'It was open for too long, was finished already, or began in another browser. Start again.',
        tone: 'bad',
        links: [{ href: '/sign-in', text: 'Sign in' }],
      });
    }
    const { attempt } = result;
    if ('refused' in result) {
      response.locals.logger?.warn({ provider: name, reason: result.reason }, 'social sign-in refused');
      audit.record({
        kind: 'sign-in.refused',
        address: request.ip,
        detail: { provider: name, reason: result.refused },
      });
      return showRefusal(request, response, attempt, result.refused);
    }
    if (attempt.linkAccountId) return link(request, response, attempt.linkAccountId, result.identity);
    const account = await options.findOrCreateSocialAccount(result.identity);
    if (account.disabledAt) {
      audit.record({
        kind: 'sign-in.refused',
        accountId: account.id,
        address: request.ip,
        detail: { reason: 'account disabled' },
      });
      return showRefusal(request, response, attempt, 'denied');
    }
    const interaction = attempt.interactionUid ? await interactions.findByUid(attempt.interactionUid) : undefined;
    await pages.finish(request, response, {
      account,
      acr: `idp:${name}`,
      amr: ['fed'],
      next: (done) =>
        interaction
          ? interaction.signIn(response, done)
          : Promise.resolve(response.redirect(303, attempt.returnTo ?? '/account')),
    });
  });
  router.use('/social', site.showFailure);
  return { router, begin };
}
