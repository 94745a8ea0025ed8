// Serves the history of a facility: who changed what, when and from which IP address.
import { Router } from 'express';
import type { Audit } from '../../audit/audit.ts';
import { queryText } from '../../html/form-body.ts';
import { breadcrumbsBelowFacility, type PortalPages } from '../page.ts';
import { describeEvent } from './event-descriptions.ts';
import { type HistoryStore, maxHistoryPage } from './history-store.ts';

export interface HistoryPagesOptions {
  readonly pages: PortalPages;
  readonly history: HistoryStore;
  readonly audit: Pick<Audit, 'flush'>;
}

export function historyRoutes({ pages, history, audit }: HistoryPagesOptions): Router {
  const router = Router();
  router.get(
    '/portal/facilities/:facilityId/history',
    pages.forManager(async (request, response, { facility }) => {
      const page = Number(queryText(request, 'page') ?? '1');
      if (!Number.isInteger(page) || page < 1 || page > maxHistoryPage) return pages.notFound(response);
      // Users see their own changes, which may not be stored yet.
      await audit.flush();
      const { rows, hasOlder } = await history.findPage(facility.id, page);
      const events = rows.map((row) => ({
        at: row.at,
        address: row.address,
        actor: row.actor ?? 'A deleted account',
        description: describeEvent(row),
      }));
      return pages.show(
        response,
        'history',
        { facility, events, page, hasOlder },
        { title: `History of ${facility.name}`, width: 'wide', breadcrumbs: breadcrumbsBelowFacility(facility) },
      );
    }),
  );
  return router;
}
