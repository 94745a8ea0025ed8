// Serves the pages where owners and staff see the personal access tokens of the facility's service accounts, and revoke
// one.
import { Router } from 'express';
import { queryText, textOfKey } from '../../html/forms.ts';
import { actorOf, breadcrumbsOfFacilityPage, idParameter, type ManagerHandler, type PortalServices } from '../page.ts';
import {
  type FacilityToken,
  findFacilityToken,
  findFacilityTokens,
  revokeFacilityToken,
} from './facility-token-store.ts';
import { accessTexts, tokenNameOf, tokenNotices } from './token-pages.ts';

type TokenHandler = ManagerHandler<{ readonly token: FacilityToken }>;

export function facilityTokenRoutes({ db, audit, facilityEmails, pages }: PortalServices): Router {
  const withToken =
    (handler: TokenHandler): ManagerHandler =>
    async (request, response, context) => {
      const token = await findFacilityToken(db, context.facility.id, idParameter(request, 'clientId'));
      return token ? handler(request, response, { ...context, token }) : pages.notFound(response);
    };

  const showTokens: ManagerHandler = async (request, response, { facility }) => {
    const tokens = (await findFacilityTokens(db, facility.id)).map((token) => ({
      ...token,
      accessName: accessTexts[token.access][0],
      revokePath: `${facility.path}/tokens/${encodeURIComponent(token.clientId)}/revoke`,
    }));
    return pages.show(
      response,
      'facility-tokens',
      { facility, tokens },
      {
        title: `Tokens of ${facility.name}`,
        width: 'wide',
        breadcrumbs: breadcrumbsOfFacilityPage(facility),
        notice: textOfKey(tokenNotices, queryText(request, 'notice')),
      },
    );
  };

  const showRevoke: TokenHandler = (_request, response, { facility, token }) =>
    pages.confirm(
      response,
      facility,
      'revoke-token',
      { token, timeZone: facility.timeZone },
      {
        title: `Revoke ${tokenNameOf(token)} of ${token.account}?`,
        button: token.isForOthers ? `Revoke the token for ${facility.name}` : 'Revoke the token',
        cancel: `${facility.path}/tokens`,
      },
    );

  const revoke: TokenHandler = async (request, response, { facility, signedIn, token }) => {
    const actor = actorOf(request, signedIn);
    const { clientId } = token;
    const revoked = await revokeFacilityToken(db, { facilityId: facility.id, clientId, actorId: actor.accountId });
    if (!revoked) return pages.notFound(response);
    const { name, accountId, isForOthers } = revoked;
    const detail = { name, account: accountId, ...(isForOthers && { onlyHere: true }) };
    // In the history of this facility only: the others must not see its people.
    const place = { clientId, facilityId: facility.id };
    const event = { kind: 'personal-access-token.revoked', ...actor, ...place, detail } as const;
    audit.record(event);
    await facilityEmails.send(event, 'owners', [accountId]);
    response.redirect(303, `${facility.path}/tokens?notice=${isForOthers ? 'revoked-here' : 'revoked'}`);
  };

  const path = '/portal/facilities/:facilityId/tokens';
  const router = Router();
  router.get(path, pages.forManager(showTokens));
  router.use(pages.confirmationForManager(`${path}/:clientId/revoke`, withToken(showRevoke), withToken(revoke)));
  return router;
}
