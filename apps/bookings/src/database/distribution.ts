// Where does each table live when the database is a Citus cluster? All of a facility on one node, so that a booking is a transaction of
// that node alone; the two keys that span facilities by themselves. See docs/operations/scale.md.
import type { Distribution } from '@bay-booking/service/database/distribute';

const byFacility = (...tables: string[]) => tables.map((table) => ({ table, column: 'facility_id' }));

export const distribution: Distribution = {
  colocated: [
    { table: 'facility', column: 'id' },
    ...byFacility('location', 'bay', 'booking', 'booking_change', 'booking_count'),
  ],
  independent: [
    { table: 'booking_reference', column: 'external_booking_id' },
    { table: 'idempotency_key', column: 'id' },
  ],
  local: ['booking_count_state', 'import_lock', 'rate_limit', 'schema_migration'],
};
