// Serves the history of a facility: who changed what, when and from which IP address.
import { Router } from 'express';
import { queryText } from '../../html/forms.ts';
import { breadcrumbsBelowFacility, type PortalServices } from '../page.ts';
import { describeEvent, nameWithoutAccount } from './event-descriptions.ts';
import { findHistoryPage, maxHistoryPage } from './history-store.ts';

export function historyRoutes({ db, audit, pages }: PortalServices): Router {
  const router = Router();
  router.get(
    '/portal/facilities/:facilityId/history',
    pages.forManager(async (request, response, { facility }) => {
      const page = Number(queryText(request, 'page') ?? '1');
      if (!Number.isInteger(page) || page < 1 || page > maxHistoryPage) return pages.notFound(response);
      // Users see their own changes, which may not be stored yet.
      await audit.flush();
      const { rows, hasOlder } = await findHistoryPage(db, facility.id, page);
      const events = rows.map((row) => ({
        at: row.at,
        address: row.address,
        actor: row.actor ?? nameWithoutAccount(row.detail) ?? 'A former member',
        description: describeEvent(row),
      }));
      const breadcrumbs = breadcrumbsBelowFacility(facility);
      const data = { facility, events, page, hasOlder };
      return pages.show(response, 'history', data, {
        title: `History of ${facility.name}`,
        width: 'wide',
        breadcrumbs,
      });
    }),
  );
  return router;
}
