// Serves the pages where a service account rotates and revokes its personal access tokens. Each page first shows the
// consequences for the software that uses the token.
import { randomToken } from '@bay-booking/service/secret-box';
import { type Request, type Response, Router } from 'express';
import type { PersonalAccessToken } from '../../clients/personal-access-token-store.ts';
import { field } from '../../html/forms.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { FormState, SignedInHandler } from '../../html/site.ts';
import { formatDuration } from '../../html/time-format.ts';
import type { FacilityOfAccount } from '../members/member-store.ts';
import { actorOf, idParameter, type PortalServices, timeZoneOf, tokensBreadcrumb } from '../page.ts';
import type { SecretPage } from './secret-page.ts';
import { allDisabled, tokenNameOf, tokenPath, toOwnTokens } from './token-pages.ts';

interface TokenContext {
  readonly signedIn: SignedIn;
  readonly token: PersonalAccessToken;
  /** The facilities of the token. */
  readonly facilities: readonly FacilityOfAccount[];
  /** The time zone that all facilities of the account share. */
  readonly timeZone: string | undefined;
}

const ownTokens = { cancel: '/portal', breadcrumbs: [tokensBreadcrumb] };

type TokenHandler = (request: Request, response: Response, context: TokenContext) => Promise<void>;

/** The choices of a user who rotates a token: how many seconds the old secret still works. */
const overlaps = [
  {
    value: 0,
    text: 'It stops working now',
    detail:
      'Choose this if the old secret may have leaked. The software gets no access token until it has the new secret.',
  },
  ...[3_600, 86_400, 7 * 86_400].map((value) => ({ value, text: formatDuration(value) })),
];

export function tokenChangeRoutes(services: PortalServices, secretPage: SecretPage): Router {
  const { tokenStore, members, submittedForms, site, facilityEmails, pages } = services;

  const showEnded = (response: Response): Promise<void> =>
    site.showMessage(response, {
      ...toOwnTokens,
      status: 409,
      title: 'This token is no longer active',
      text: 'The token was revoked or has expired. Create a new token instead.',
    });

  const withActiveToken =
    (handler: TokenHandler): SignedInHandler =>
    async (request, response, signedIn) => {
      const token = await tokenStore.find(signedIn.account.id, idParameter(request, 'clientId'));
      if (!token) return pages.notFound(response);
      if (!token.isActive) return showEnded(response);
      const all = await members.findFacilities(signedIn.account.id);
      const facilities = all.filter(({ id }) => token.facilityIds?.includes(id) ?? true);
      return handler(request, response, { signedIn, token, facilities, timeZone: timeZoneOf(all) });
    };

  /** A token all of whose facilities are disabled can be revoked, but not rotated. */
  const withRotatableToken = (handler: TokenHandler): SignedInHandler =>
    withActiveToken((request, response, context) => {
      const { facilities } = context;
      const isDisabled = facilities.length > 0 && facilities.every((facility) => facility.isDisabled);
      if (!isDisabled) return handler(request, response, context);
      const title = 'This token cannot be rotated';
      return site.showMessage(response, { ...toOwnTokens, status: 409, title, text: allDisabled });
    });

  const showRotate = (response: Response, { token, timeZone }: TokenContext, state: FormState = {}): Promise<void> => {
    const { lifetimeSeconds } = token;
    const expiresAt = lifetimeSeconds === null ? undefined : new Date(Date.now() + lifetimeSeconds * 1000);
    return site.showConfirmation(
      response,
      '/portal/views/rotate',
      { token, timeZone, expiresAt, overlaps },
      {
        title: `New secret for ${tokenNameOf(token)}`,
        button: 'Create the new secret',
        isDangerous: false,
        hidden: { form: randomToken() },
        ...ownTokens,
        ...state,
      },
    );
  };

  const path = '/portal/tokens/:clientId';
  const returnTo = (page: string) => (request: Request) => `${tokenPath(idParameter(request, 'clientId'))}/${page}`;
  const router = Router();

  router.get(
    `${path}/rotate`,
    pages.forServiceAccount(withRotatableToken((_request, response, context) => showRotate(response, context))),
  );
  router.post(
    `${path}/rotate`,
    ...pages.formForServiceAccount(
      withRotatableToken(async (request, response, context) => {
        const { signedIn, token } = context;
        const { clientId, name, access, accessTokenTtl } = token;
        // How long the old secret still works.
        const overlapSeconds = overlaps.find(({ value }) => String(value) === field(request, 'overlap'))?.value;
        if (overlapSeconds === undefined) {
          const validationErrors = [{ field: 'overlap', text: 'Choose one of these times.' }];
          return showRotate(response, context, { status: 400, validationErrors });
        }
        const actor = actorOf(request, signedIn);
        // A form without an id counts as submitted for the first time.
        const result = await submittedForms.once(actor.accountId, field(request, 'form') || randomToken(), () =>
          tokenStore.rotate(clientId, overlapSeconds, actor),
        );
        if (!('error' in result)) {
          return secretPage.show(response, { ...result, name, access, overlap: overlapSeconds, accessTokenTtl });
        }
        return result.error === 'form-already-submitted' ? secretPage.showAlreadyShown(response) : showEnded(response);
      }),
      // The response shows a secret, so the form requires a recent sign-in.
      { returnTo: returnTo('rotate'), requireFresh: true },
    ),
  );

  router.get(
    `${path}/revoke`,
    pages.forServiceAccount(
      withActiveToken((_request, response, { token, timeZone }) => {
        const page = { title: `Revoke ${tokenNameOf(token)}?`, button: 'Revoke the token', ...ownTokens };
        return site.showConfirmation(response, '/portal/views/revoke-token', { token, timeZone }, page);
      }),
    ),
  );
  router.post(
    `${path}/revoke`,
    ...pages.formForServiceAccount(
      withActiveToken(async (request, response, { signedIn, token, facilities }) => {
        const actor = actorOf(request, signedIn);
        const revoked = await tokenStore.revoke(token.clientId, actor);
        if (!revoked) return showEnded(response);
        for (const { id: facilityId } of facilities) {
          const event = { kind: 'personal-access-token.revoked', ...actor, facilityId } as const;
          await facilityEmails.send({ ...event, detail: { name: token.name } }, 'owners');
        }
        response.redirect(303, '/portal?notice=revoked');
      }),
      { returnTo: returnTo('revoke') },
    ),
  );
  return router;
}
