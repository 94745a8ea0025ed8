// Reads the history of a facility from the audit trail (table `audit_event`), newest first.
import { type Database, query } from '@bay-booking/service/database/database';

export interface HistoryRow {
  readonly at: Date;
  readonly kind: string;
  /** Null if no account caused the event. */
  readonly actor: string | null;
  readonly address: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

const pageSize = 25;
/** Callers must check it. The query becomes slower with each page. */
export const maxHistoryPage = 400;

/** Reads one event more than a page shows, to know whether there is another page. */
export async function findHistoryPage(db: Database, facilityId: string, page: number) {
  const rows = await query<HistoryRow>(
    db,
    `select e.at, e.kind, e.address, coalesce(a.name, a.username, 'Former member ' || former_actor.number) as actor,
            case when subject.number is null then e.detail
                 else e.detail || jsonb_build_object('name', 'Former member ' || subject.number) end as detail
       from audit_event e left join account a on a.id = e.account_id
            left join deleted_account former_actor on former_actor.id = e.account_id
            left join deleted_account subject on subject.id = e.detail ->> 'account'
      where e.facility_id = $1 order by e.at desc, e.id desc limit $2 offset $3`,
    [facilityId, pageSize + 1, (page - 1) * pageSize],
  );
  return { rows: rows.slice(0, pageSize), hasOlder: rows.length > pageSize && page < maxHistoryPage };
}
