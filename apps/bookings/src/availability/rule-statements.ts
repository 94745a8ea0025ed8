// Statements that every change of opening hours and closures runs before it writes, in the same transaction.
//
// They lock the location and then the bays, in the order of their ids, as imports and bookings do, so that no deadlock
// is possible. Bookings wait for the lock of their bay, and then see that its rules have another version.
import type { Statement } from '@bay-booking/service/database/transaction';

export interface RuleTarget {
  readonly facilityId: string;
  readonly locationIds: readonly string[];
  readonly bayIds: readonly string[];
}

const ofTarget = 'facility_id = $1 and (location_id = any($2) or id = any($3))';

export const ruleWrites = {
  lockLocations: 'select id from location where facility_id = $1 and id = any($2) order by id for no key update',
  lockBays: `select id from bay where ${ofTarget} order by id for no key update`,
  increaseVersions: `update bay set rules_version = rules_version + 1 where ${ofTarget}`,
} as const;

export function lockRules({ facilityId, locationIds, bayIds }: RuleTarget): readonly Statement[] {
  const values = [facilityId, locationIds, bayIds];
  return [
    [ruleWrites.lockLocations, [facilityId, locationIds]],
    [ruleWrites.lockBays, values],
    [ruleWrites.increaseVersions, values],
  ];
}
