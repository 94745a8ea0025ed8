// Reads the history of a facility from the audit trail (table `audit_event`), newest first.
import { type Database, query } from '@bay-booking/service/database/database';

export interface HistoryRow {
  readonly at: Date;
  readonly kind: string;
  /** The name of the account that caused the event. Null if no account did, or if the account no longer exists. */
  readonly actor: string | null;
  /** The IP address from which the request came. Null if it is not known. */
  readonly address: string | null;
  /** Further facts, which depend on the kind of the event. */
  readonly detail: Readonly<Record<string, unknown>>;
}

const pageSize = 25;
/**
 * The highest page number, which callers must check. The query becomes slower with each page, so older events are not
 * shown.
 */
export const maxHistoryPage = 400;

export type HistoryStore = ReturnType<typeof createHistoryStore>;

export function createHistoryStore({ db }: { db: Database }) {
  return {
    /** Reads one event more than a page shows. This event tells whether there is another page. */
    async findPage(
      facilityId: string,
      page: number,
    ): Promise<{ readonly rows: readonly HistoryRow[]; readonly hasOlder: boolean }> {
      const rows = await query<HistoryRow>(
        db,
        `select e.at, e.kind, coalesce(a.name, a.username) as actor, e.address, e.detail
           from audit_event e left join account a on a.id = e.account_id
          where e.facility_id = $1 order by e.at desc, e.id desc limit $2 offset $3`,
        [facilityId, pageSize + 1, (page - 1) * pageSize],
      );
      return { rows: rows.slice(0, pageSize), hasOlder: rows.length > pageSize && page < maxHistoryPage };
    },
  };
}
