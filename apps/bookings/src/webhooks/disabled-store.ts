// Stores which facilities auth has disabled (table disabled_facility): their webhooks are paused meanwhile.
//
// The state of a webhook is derived from this table, so a webhook that its owner has paused stays paused afterwards.
import { type Database, query } from '@bay-booking/service/database/database';
import { revocationIdInSql } from '@bay-booking/service/revocations';

const statement = `with enabled as (
  delete from disabled_facility where id <> all($1::text[])
)
insert into disabled_facility (id) select unnest($1::text[]) order by 1 on conflict do nothing`;

/** `ids` are those of the entries `facility ID` in the list of revocations. */
export async function setDisabledFacilities(db: Database, ids: readonly string[]): Promise<void> {
  await query(db, statement, [ids]);
}

/** The SQL condition that the facility in `column` is disabled. */
export const isDisabledFacility = (column: string): string =>
  `${revocationIdInSql('facility', column)} in (select id from disabled_facility)`;

/** The SQL condition that the webhook is active, but all its facilities are disabled. */
export const hasOnlyDisabledFacilities = `(webhook.state = 'active' and not exists (
  select from unnest(webhook.facility_ids) as facility (facility_id) where not ${isDisabledFacility('facility_id')}))`;
