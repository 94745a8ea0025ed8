// Builds the statements that a request runs first in its transaction if it changes opening hours or closures. An import
// has statements of its own (places/import-store.ts).
//
// The statements lock the locations and then the bays, each in the order of their ids. Imports and bookings lock rows
// in the same order, so no deadlock is possible. The statements also increase the version of the bays' rules. A
// concurrent booking waits for the lock of its bay, and then finds that the version has changed.
import type { Statement } from '../database/in-transaction.ts';

/** The bays whose rules change: these bays, and all bays of these locations. */
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
