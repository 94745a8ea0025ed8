// Caches the facility of each bay and location, which never changes.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { LRUCache } from 'lru-cache';

const facilitiesOf = (table: 'bay' | 'location') =>
  `select id, facility_id as "facilityId" from ${table} where facility_id = any($1) and id = any($2)`;
const statements = { bays: facilitiesOf('bay'), locations: facilitiesOf('location') };

export type Catalogue = ReturnType<typeof createCatalogue>;

export function createCatalogue(db: Queryable) {
  // After a minute, a bay that an operator has deleted is unknown again.
  const options = { max: 500_000, ttl: 60_000 };
  const caches = { bays: new LRUCache<string, string>(options), locations: new LRUCache<string, string>(options) };

  return {
    /** Returns the facility of each of these bays or locations that belongs to one of `facilities`. */
    findFacilities: async (
      kind: 'bays' | 'locations',
      facilities: readonly string[],
      ids: readonly string[],
    ): Promise<ReadonlyMap<string, string>> => {
      const cache = caches[kind];
      const permitted = new Set(facilities);
      const found = new Map<string, string>();
      for (const id of ids) {
        const facilityId = cache.get(id);
        if (facilityId !== undefined && permitted.has(facilityId)) found.set(id, facilityId);
      }
      const unknownIds = ids.filter((id) => !found.has(id));
      if (unknownIds.length === 0) return found;
      const rows = await query<{ id: string; facilityId: string }>(db, statements[kind], [facilities, unknownIds]);
      for (const { id, facilityId } of rows) {
        cache.set(id, facilityId);
        found.set(id, facilityId);
      }
      return found;
    },
  };
}
