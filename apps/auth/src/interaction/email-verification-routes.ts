// The page behind the mailed link that confirms an e-mail address.
import { Router } from 'express';
import type { AccountEmails } from '../accounts/account-emails.ts';
import { queryText } from '../html/form-body.ts';
import type { MessagePage, Site } from '../html/site.ts';

export interface EmailVerificationOptions {
  readonly site: Site;
  readonly emails: Pick<AccountEmails, 'verifyEmail'>;
}

const links = [{ href: '/account', text: 'Your account' }];
const confirmed: MessagePage = {
  title: 'Your address is confirmed',
  text: 'Thank you. You do not need to do anything else.',
  tone: 'good',
  links,
};
const linkExpired: MessagePage = {
  status: 410,
  title: 'This link no longer works',
  text: 'If you have already used it, your address is confirmed. If not, request a new link in your account.',
  tone: 'bad',
  links,
};

export function emailVerificationRoutes({ site, emails }: EmailVerificationOptions): Router {
  const router = Router();
  // Mail scanners open links with HEAD before the user does. Only GET uses up the link.
  router.head('/verify-email', (_request, response) => void response.end());
  router.get('/verify-email', async (request, response) => {
    const verified = await emails.verifyEmail(queryText(request, 'token') ?? '', request.ip);
    return site.showMessage(request, response, verified ? confirmed : linkExpired);
  });
  router.use('/verify-email', site.errorHandler);
  return router;
}
