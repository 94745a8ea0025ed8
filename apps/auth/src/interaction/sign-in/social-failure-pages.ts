// Describes why a sign-in at a social provider failed, with links to try again and to sign in another way.
import type { MessagePage } from '../../html/site.ts';
import type { FlowPurpose } from '../../social/store.ts';
import { signInPageOf } from './sign-in-context.ts';

/**
 * - `failed`: the provider's response could not be used, or is about an old sign-in.
 * - `unavailable`: the provider cannot be reached.
 * - `refused`: the account of the user is disabled.
 */
export type Failure = 'failed' | 'unavailable' | 'refused';

const messages: Readonly<Record<Failure, (provider: string) => Pick<MessagePage, 'status' | 'title' | 'text'>>> = {
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

/** `title` is the name of the provider as users see it. */
export const failurePage = (name: string, title: string, purpose: FlowPurpose, failure: Failure): MessagePage => ({
  ...messages[failure](title),
  links: [...retryLinks(name, title, purpose), alternativeLink(purpose)],
});

export const unknownProviderPage = (purpose: FlowPurpose): MessagePage => ({
  status: 404,
  title: 'There is no such provider',
  text: 'Choose another way to sign in.',
  links: [alternativeLink(purpose)],
});

/** Returns the path of the sign-in page where the user chose the provider. */
export const pageWithProviders = (purpose: FlowPurpose): string =>
  signInPageOf(purpose, { again: purpose.confirmAccountId !== null });

const alternativeLink = (purpose: FlowPurpose) =>
  purpose.linkAccountId === null
    ? { href: pageWithProviders(purpose), text: 'Other ways to sign in' }
    : { href: '/account', text: 'Back to your account' };

/** A user who adds a provider to an account begins with a form, so there is no link to try again. */
function retryLinks(name: string, title: string, { interactionUid, returnTo, linkAccountId }: FlowPurpose) {
  if (linkAccountId !== null) return [];
  const href =
    interactionUid === null
      ? `/social/${name}?return=${encodeURIComponent(returnTo ?? '/account')}`
      : `/interaction/${interactionUid}/social/${name}`;
  return [{ href, text: `Try ${title} again` }];
}
