// Shows why a sign-in at a social provider failed. The pages have links to try again and to sign in another way.
import type { Request, Response } from 'express';
import { signInPath } from '../html/local-path.ts';
import type { Site } from '../html/site.ts';
import { type SocialProviders, titleOfProvider } from './settings.ts';
import type { FlowPurpose } from './store.ts';

/**
 * The reason of a failure:
 * - `failed`: the provider's response could not be used.
 * - `unavailable`: the provider cannot be reached.
 * - `refused`: the account of the user is disabled.
 */
export type Failure = 'failed' | 'unavailable' | 'refused';

const messages: Readonly<Record<Failure, (provider: string) => { status: number; title: string; text: string }>> = {
  failed: (provider) => ({
    status: 502,
    title: `Signing in with ${provider} did not work`,
    text: `We could not use the response of ${provider}. Try again in a moment.`,
  }),
  unavailable: (provider) => ({
    status: 502,
    title: `${provider} cannot be reached`,
    text: `${provider} does not respond at the moment. Try again in a moment, or sign in another way.`,
  }),
  refused: (provider) => ({
    status: 403,
    title: `You cannot sign in with ${provider}`,
    text: `Your Bay Booking account that belongs to this ${provider} account is disabled. Sign in another way.`,
  }),
};

export function createFailurePages({ site, providers }: { site: Site; providers: SocialProviders }) {
  return {
    show(
      request: Request,
      response: Response,
      { name, purpose, failure }: { name: string; purpose: FlowPurpose; failure: Failure },
    ): Promise<void> {
      const title = titleOfProvider(providers, name);
      return site.showMessage(request, response, {
        ...messages[failure](title),
        tone: 'bad',
        links: [...retryLinks(name, title, purpose), alternativeLink(purpose)],
      });
    },

    showUnknownProvider: (request: Request, response: Response, purpose: FlowPurpose): Promise<void> =>
      site.showMessage(request, response, {
        status: 404,
        title: 'There is no such provider',
        text: 'Choose another way to sign in.',
        tone: 'bad',
        links: [alternativeLink(purpose)],
      }),
  };
}

/**
 * Returns the path of the sign-in page on which the user chose the provider. If both fields are null, the user chose it
 * on the page "Your account" to add it to the account. The result is then a sign-in page that leads to "Your account".
 */
export const signInPageOf = ({ interactionUid, returnTo }: FlowPurpose): string =>
  interactionUid === null ? signInPath(returnTo ?? '/account') : `/interaction/${interactionUid}/sign-in`;

const alternativeLink = (purpose: FlowPurpose) =>
  purpose.linkAccountId === null
    ? { href: signInPageOf(purpose), text: 'Other ways to sign in' }
    : { href: '/account', text: 'Back to your account' };

/**
 * Returns links with which the user tries the same provider again. Returns none if the user wanted to add the provider
 * to an account, because this begins with a form and not with a link.
 */
function retryLinks(name: string, title: string, { interactionUid, returnTo, linkAccountId }: FlowPurpose) {
  if (linkAccountId !== null) return [];
  const href =
    interactionUid === null
      ? `/social/${name}?return=${encodeURIComponent(returnTo ?? '/account')}`
      : `/interaction/${interactionUid}/social/${name}`;
  return [{ href, text: `Try ${title} again` }];
}
