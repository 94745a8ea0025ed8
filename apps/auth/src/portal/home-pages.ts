// `/portal`: where does somebody begin? An owner or staff member at their facility (a list when there are several), a service account at
// its facilities and personal access tokens, everybody else with a word about how to get a role.
import { type Request, type Response, Router } from 'express';
import { queryText } from '../html/form-body.ts';
import type { PeopleStore } from './member-store.ts';
import { facilityPath, type PortalPages } from './page.ts';
import { managesPeople, roleWords } from './rules.ts';
import type { ShowTokens } from './token-pages.ts';

export interface HomePagesOptions {
  readonly pages: PortalPages;
  readonly people: Pick<PeopleStore, 'facilitiesOf'>;
  readonly showTokens: ShowTokens;
}

export function homeRoutes({ pages, people, showTokens }: HomePagesOptions): Router {
  const router = Router();
  router.get(
    '/portal',
    pages.forSignedIn(async (request: Request, response: Response, signedIn) => {
      if (signedIn.account.kind === 'service') {
        return showTokens(request, response, signedIn, {
          name: queryText(request, 'name'),
          expiresInDays: queryText(request, 'expiresInDays'),
        });
      }
      const facilities = await people.facilitiesOf(signedIn.account.id);
      const [only] = facilities;
      if (only && facilities.length === 1 && managesPeople(only.role)) {
        return response.redirect(303, facilityPath(only.id));
      }
      const shown = facilities.map((facility) => ({
        ...facility,
        roleWords: roleWords[facility.role],
        path: managesPeople(facility.role) ? facilityPath(facility.id) : undefined,
      }));
      return pages.show(
        request,
        response,
        'home',
        { facilities: shown, username: signedIn.account.username },
        shown.length > 0
          ? { title: 'Your facilities', width: 'wide' }
          : { title: 'You have no facility yet', status: 403 },
      );
    }),
  );
  return router;
}
