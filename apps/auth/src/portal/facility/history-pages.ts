// Serves the history of a facility: who changed what, when and from which IP address.
import type { Database } from '@bay-booking/service/database/database';
import { Router } from 'express';
import type { Audit } from '../../audit/audit.ts';
import { queryText } from '../../html/forms.ts';
import { breadcrumbsBelowFacility, type PortalPages } from '../page.ts';
import { describeEvent } from './event-descriptions.ts';
import { findHistoryPage, type HistoryRow, maxHistoryPage } from './history-store.ts';

const nameOfOperator = ({ operator }: HistoryRow['detail']): string | undefined =>
  operator === undefined ? undefined : 'The operator of the service';

export function historyRoutes({
  db,
  audit,
  pages,
}: {
  readonly db: Database;
  readonly audit: Audit;
  readonly pages: PortalPages;
}): Router {
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
        actor: row.actor ?? nameOfOperator(row.detail) ?? 'A former member',
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
