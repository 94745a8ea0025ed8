// Defines how the tables are distributed over the nodes of a Citus cluster (docs/operations/scale.md).
//
// All rows of a facility are on one node, so that the transaction that writes a booking involves only that node. Tables
// whose keys are unique over all facilities are distributed by those keys. Local tables stay on the coordinator node.
import type { Distribution } from '@bay-booking/service/database/distribute';

const byFacility = (...tables: string[]) => tables.map((table) => ({ table, column: 'facility_id' }));

export const distribution: Distribution = {
  colocated: [
    { table: 'facility', column: 'id' },
    ...byFacility('location', 'bay', 'booking', 'booking_change', 'booking_closure', 'booking_hold'),
  ],
  independent: [
    { table: 'booking_reference', column: 'external_booking_id' },
    { table: 'idempotency_key', column: 'id' },
    { table: 'booking_hold_client', column: 'id' },
  ],
  local: [
    'database_identity',
    'dpop_proof',
    'facility_activity',
    'import_lock',
    'management_event',
    'rate_limit',
    'schema_migration',
    'webhook',
    'webhook_cursor',
    'disabled_facility',
    'webhook_delivery',
  ],
};
