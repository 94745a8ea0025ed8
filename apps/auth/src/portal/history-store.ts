// What has happened at a facility? Reads audit_event by pages, newest first, with the names of who did it.
import { type Database, query } from '@bay-booking/service/database/database';

export interface HistoryRow {
  readonly at: Date;
  readonly kind: string;
  readonly accountId: string | null;
  readonly who: string | null;
  readonly address: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

export const historyPageSize = 25;
/** Offsets cost what they skip; whoever needs more asks the database's keeper. */
export const historyPagesAtMost = 400;

export type HistoryStore = ReturnType<typeof createHistoryStore>;

export function createHistoryStore({ db }: { db: Database }) {
  return {
    async page(facilityId: string, page: number): Promise<{ rows: readonly HistoryRow[]; more: boolean }> {
      const rows = await query<HistoryRow>(
        db,
        `select e.at, e.kind, e.account_id as "accountId", coalesce(a.name, a.username) as who, e.address, e.detail
           from audit_event e left join account a on a.id = e.account_id
          where e.facility_id = $1 order by e.at desc, e.id desc limit $2 offset $3`,
        [facilityId, historyPageSize + 1, (page - 1) * historyPageSize],
      );
      return { rows: rows.slice(0, historyPageSize), more: rows.length > historyPageSize && page < historyPagesAtMost };
    },
  };
}
