// Rotating and revoking a personal access token, each after a page that says what it does to the program that uses it. Another account's
// token is not there.
import { type Request, type Response, Router } from 'express';
import type { ClientStore, PersonalAccessToken } from '../clients/store.ts';
import { field } from '../html/form-body.ts';
import type { SignedInHandler } from '../html/site.ts';
import type { SignedIn } from '../interaction/browser-session.ts';
import { idOf, type PortalPages, tokensCrumb } from './page.ts';
import type { ShowSecret } from './secret-page.ts';
import { span } from './time-format.ts';
import { isLive, tokenPath } from './token-pages.ts';
import { overlaps, type Tokens } from './tokens.ts';
import type { UsedForms } from './used-form-store.ts';

export interface TokenChangePagesOptions {
  readonly pages: PortalPages;
  readonly clients: Pick<ClientStore, 'findPersonalAccessToken'>;
  readonly usedForms: Pick<UsedForms, 'newId'>;
  readonly tokens: Pick<Tokens, 'rotate' | 'revoke'>;
  readonly showSecret: ShowSecret;
  readonly accessTokenTtl: number;
}

type TokenHandler = (
  request: Request,
  response: Response,
  who: { signedIn: SignedIn; token: PersonalAccessToken },
) => Promise<void>;

export function tokenChangeRoutes(options: TokenChangePagesOptions): Router {
  const { pages, clients, usedForms, tokens, showSecret, accessTokenTtl } = options;

  const withToken =
    (handler: TokenHandler): SignedInHandler =>
    async (request, response, signedIn) => {
      const token = await clients.findPersonalAccessToken(signedIn.account.id, idOf(request, 'clientId'));
      if (!token) return pages.notFound(request, response);
      if (!isLive(token)) return ended(request, response);
      return handler(request, response, { signedIn, token });
    };

  const ended = (request: Request, response: Response): Promise<void> =>
    pages.showMessage(request, response, {
      status: 409,
      title: 'This token has ended',
      text: 'It was revoked or has expired. Create another in its place.',
      links: [{ href: '/portal', text: 'To your tokens' }],
    });

  const path = '/portal/tokens/:clientId';
  const router = Router();

  const showRotate = (request: Request, response: Response, token: PersonalAccessToken, status = 200): Promise<void> =>
    pages.show(
      request,
      response,
      'rotate',
      {
        token,
        overlaps: overlaps.map((seconds) => ({
          seconds,
          words: seconds === 0 ? 'It ends at once' : `${span(seconds)} more`,
        })),
        formId: usedForms.newId(),
        error: status === 400 ? 'Choose one of these.' : undefined,
        accessTokenTtl,
        action: `${tokenPath(token.clientId)}/rotate`,
      },
      { title: `New secret for ${token.name}`, status, crumbs: [tokensCrumb] },
    );

  router.get(
    `${path}/rotate`,
    pages.forServiceAccount(withToken((request, response, { token }) => showRotate(request, response, token))),
  );
  router.post(
    `${path}/rotate`,
    ...pages.formForServiceAccount(
      withToken(async (request, response, { signedIn: { account }, token: { clientId, name, ...token } }) => {
        const overlap = overlaps.find((seconds) => String(seconds) === field(request, 'overlap'));
        if (overlap === undefined) return showRotate(request, response, { clientId, name, ...token }, 400);
        const made = await tokens.rotate(
          account,
          { clientId, name, overlap, formId: field(request, 'form') || usedForms.newId() },
          { accountId: account.id, address: request.ip },
        );
        if ('refused' in made) {
          return made.refused === 'sent-before' ? showSecret.again(request, response) : ended(request, response);
        }
        return showSecret.first(request, response, { ...made, name, deed: 'rotated', overlap });
      }),
      { back: (request) => `${tokenPath(idOf(request, 'clientId'))}/rotate`, fresh: true },
    ),
  );

  router.get(
    `${path}/revoke`,
    pages.forServiceAccount(
      withToken((request, response, { token }) =>
        pages.show(
          request,
          response,
          'revoke-token',
          { token, accessTokenTtl, action: `${tokenPath(token.clientId)}/revoke` },
          { title: `Revoke ${token.name}?`, crumbs: [tokensCrumb] },
        ),
      ),
    ),
  );
  router.post(
    `${path}/revoke`,
    ...pages.formForServiceAccount(
      withToken(async (request, response, { signedIn: { account }, token: { clientId, name } }) => {
        const actor = { accountId: account.id, address: request.ip };
        if (!(await tokens.revoke(account, { clientId, name }, actor))) return ended(request, response);
        response.redirect(303, '/portal?notice=revoked');
      }),
      { back: (request) => `${tokenPath(idOf(request, 'clientId'))}/revoke` },
    ),
  );
  return router;
}
