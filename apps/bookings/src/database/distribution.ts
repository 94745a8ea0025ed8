// Where does each table live when the database is a Citus cluster? All of a facility on one node, so that a booking is a transaction of
// that node alone; the two keys that span facilities by themselves. See docs/operations/scale.md.
import type { Distribution } from '@bay-booking/service/database/distribute';

const byFacility = (...tables: string[]) => tables.map((table) => ({ table, by: 'facility_id' }));

export const distribution: Distribution = {
  together: [
    { table: 'facility', by: 'id' },
    ...byFacility('location', 'bay', 'booking', 'booking_change', 'booking_count'),
  ],
  apart: [
    { table: 'booking_reference', by: 'external_booking_id' },
    { table: 'idempotency_key', by: 'id' },
  ],
  local: ['booking_count_state', 'import_lock', 'rate_limit', 'schema_migration'],
};
