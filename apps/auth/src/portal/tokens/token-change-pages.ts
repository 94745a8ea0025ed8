// Serves the pages on which a service account rotates and revokes its personal access tokens. Each page first shows the
// consequences for the software that uses the token.
import { type Request, type Response, Router } from 'express';
import type { ClientStore, PersonalAccessToken } from '../../clients/store.ts';
import { field } from '../../html/form-body.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { SignedInHandler } from '../../html/site.ts';
import { actorOf, idParameter, type PortalPages, tokensBreadcrumb } from '../page.ts';
import type { SecretPage } from './secret-page.ts';
import type { SubmittedForms } from './submitted-form-store.ts';
import { isActive, tokenPath } from './token-pages.ts';
import { overlaps, type Tokens } from './tokens.ts';

export interface TokenChangePagesOptions {
  readonly pages: PortalPages;
  readonly clients: Pick<ClientStore, 'findPersonalAccessToken'>;
  readonly submittedForms: Pick<SubmittedForms, 'newId'>;
  readonly tokens: Pick<Tokens, 'rotate' | 'revoke'>;
  readonly secretPage: SecretPage;
}

interface TokenContext {
  readonly signedIn: SignedIn;
  readonly token: PersonalAccessToken;
}

type TokenHandler = (request: Request, response: Response, context: TokenContext) => Promise<void>;

export function tokenChangeRoutes(options: TokenChangePagesOptions): Router {
  const { pages, clients, submittedForms, tokens, secretPage } = options;

  const showEnded = (request: Request, response: Response): Promise<void> =>
    pages.showMessage(request, response, {
      status: 409,
      title: 'This token has ended',
      text: 'The token was revoked or has expired. Create a new token instead.',
      links: [{ href: '/portal', text: 'Go to your tokens' }],
    });

  const withActiveToken =
    (handler: TokenHandler): SignedInHandler =>
    async (request, response, signedIn) => {
      const token = await clients.findPersonalAccessToken(signedIn.account.id, idParameter(request, 'clientId'));
      if (!token) return pages.notFound(request, response);
      if (!isActive(token)) return showEnded(request, response);
      return handler(request, response, { signedIn, token });
    };

  const showRotate = (
    request: Request,
    response: Response,
    token: PersonalAccessToken,
    { status, error }: { status?: number; error?: string } = {},
  ): Promise<void> =>
    pages.show(
      request,
      response,
      'rotate',
      {
        token,
        overlaps,
        formId: submittedForms.newId(),
        error,
        action: `${tokenPath(token.clientId)}/rotate`,
      },
      { title: `New secret for ${token.name}`, status, breadcrumbs: [tokensBreadcrumb] },
    );

  const path = '/portal/tokens/:clientId';
  const returnTo = (page: string) => (request: Request) => `${tokenPath(idParameter(request, 'clientId'))}/${page}`;
  const router = Router();

  router.get(
    `${path}/rotate`,
    pages.forServiceAccount(withActiveToken((request, response, { token }) => showRotate(request, response, token))),
  );
  router.post(
    `${path}/rotate`,
    ...pages.formForServiceAccount(
      withActiveToken(async (request, response, { signedIn, token }) => {
        const { clientId, name, accessTokenTtl } = token;
        // How long the old secret still works.
        const overlapSeconds = overlaps.find((seconds) => String(seconds) === field(request, 'overlap'));
        if (overlapSeconds === undefined) {
          return showRotate(request, response, token, { status: 400, error: 'Choose one of these times.' });
        }
        const result = await tokens.rotate(
          // A form with a known id was already submitted. A form without an id counts as submitted for the first time.
          { clientId, name, overlapSeconds, formId: field(request, 'form') || submittedForms.newId() },
          actorOf(request, signedIn),
        );
        if (!('error' in result)) {
          return secretPage.show(request, response, { ...result, name, overlap: overlapSeconds, accessTokenTtl });
        }
        return result.error === 'form-already-submitted'
          ? secretPage.showAlreadyShown(request, response)
          : showEnded(request, response);
      }),
      // The response shows a secret, so the form requires a recent sign-in.
      { returnTo: returnTo('rotate'), requireFresh: true },
    ),
  );

  router.get(
    `${path}/revoke`,
    pages.forServiceAccount(
      withActiveToken((request, response, { token }) =>
        pages.show(
          request,
          response,
          'revoke-token',
          { token, action: `${tokenPath(token.clientId)}/revoke` },
          { title: `Revoke ${token.name}?`, breadcrumbs: [tokensBreadcrumb] },
        ),
      ),
    ),
  );
  router.post(
    `${path}/revoke`,
    ...pages.formForServiceAccount(
      withActiveToken(async (request, response, { signedIn, token }) => {
        const revoked = await tokens.revoke(token, actorOf(request, signedIn));
        if (!revoked) return showEnded(request, response);
        response.redirect(303, '/portal?notice=revoked');
      }),
      { returnTo: returnTo('revoke') },
    ),
  );
  return router;
}
