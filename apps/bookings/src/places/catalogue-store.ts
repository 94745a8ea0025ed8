// Caches the facility of each bay and location, which never changes.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { LRUCache } from 'lru-cache';

const facilitiesOf = (table: 'bay' | 'location') =>
  `select id, facility_id as "facilityId", removed_at is not null as "isRemoved"
from ${table} where facility_id = any($1) and id = any($2)`;
const statements = { bays: facilitiesOf('bay'), locations: facilitiesOf('location') };

interface Place {
  readonly id: string;
  readonly facilityId: string;
  readonly isRemoved: boolean;
}

export type Catalogue = ReturnType<typeof createCatalogue>;

export function createCatalogue(db: Queryable) {
  // After a minute, a bay that an operator has removed is unknown. With `max` instead of a size, the caches would
  // allocate room for all entries at once: 46 MB, which every mark-sweep reads.
  const options = { maxSize: 500_000, sizeCalculation: () => 1, ttl: 60_000 };
  const caches = { bays: new LRUCache<string, Place>(options), locations: new LRUCache<string, Place>(options) };

  return {
    /**
     * Returns the facility of each of these bays or locations that belongs to one of `facilities`. Those that were
     * removed still have past bookings.
     */
    findFacilities: async (
      kind: 'bays' | 'locations',
      facilities: readonly string[],
      ids: readonly string[],
      removed: 'also removed' | 'not removed' = 'not removed',
    ): Promise<ReadonlyMap<string, string>> => {
      const cache = caches[kind];
      const permitted = new Set(facilities);
      const found = new Map<string, Place>();
      for (const id of ids) {
        const place = cache.get(id);
        if (place !== undefined && permitted.has(place.facilityId)) found.set(id, place);
      }
      const unknownIds = ids.filter((id) => !found.has(id));
      if (unknownIds.length > 0) {
        for (const place of await query<Place>(db, statements[kind], [facilities, unknownIds])) {
          // A removed place can be created again at any time.
          if (!place.isRemoved) cache.set(place.id, place);
          found.set(place.id, place);
        }
      }
      const wanted = [...found.values()].filter(({ isRemoved }) => removed === 'also removed' || !isRemoved);
      return new Map(wanted.map(({ id, facilityId }) => [id, facilityId]));
    },
  };
}
