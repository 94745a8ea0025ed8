// Which facility does a bay or a location belong to? Asked by nearly every request and changed by imports alone, so
// the answers are kept for a moment per facility. Whether a bay may be booked is never answered from here: the database decides that.
import type { PlacedBay, PlacesStore } from './store.ts';

export interface BayPlace {
  readonly facilityId: string;
  readonly timeZone: string;
}

interface FacilityPlaces {
  readonly facilityId: string;
  readonly timeZone: string;
  readonly bays: ReadonlySet<string>;
  /** Those that have bays. */
  readonly locations: ReadonlySet<string>;
}

interface Entry {
  readonly at: number;
  readonly places: Promise<FacilityPlaces | undefined>;
  /** Whether `places` has resolved, and to what: with hundreds of facilities in a token, awaiting each would be most of the work. */
  loaded: boolean;
  seen: FacilityPlaces | undefined;
}

export interface Catalogue {
  /** The bay's place if it lies in one of `facilities`; a bay not known yet is looked up. */
  findBay(facilities: readonly string[], bayId: string): Promise<BayPlace | undefined>;
  /** Those of `facilities` that bays of these locations belong to. */
  facilitiesOfLocations(facilities: readonly string[], locationIds: readonly string[]): Promise<readonly string[]>;
  /** Those of `facilities` that have one of these bays. */
  facilitiesOfBays(facilities: readonly string[], bayIds: readonly string[]): Promise<readonly string[]>;
}

const freshFor = 2_000;
const bayFreshFor = 60_000;
const facilitiesAtMost = 10_000;

export function createCatalogue(options: {
  readonly store: Pick<PlacesStore, 'placesOf' | 'placeOfBay'>;
  readonly monotonic?: () => number;
}): Catalogue {
  const { store, monotonic = () => performance.now() } = options;
  const known = new Map<string, Entry>();

  const load = (facilities: readonly string[]): void => {
    const at = monotonic();
    const loaded = store.placesOf(facilities).then(groupByFacility);
    for (const facility of facilities) {
      const places = loaded.then((found) => {
        Object.assign(entry, { loaded: true, seen: found.get(facility) });
        return entry.seen;
      });
      const entry: Entry = { at, places, loaded: false, seen: undefined };
      // A failure is not remembered; whoever awaits it sees it.
      places.catch(() => {
        if (known.get(facility) === entry) known.delete(facility);
      });
      known.delete(facility);
      known.set(facility, entry);
    }
    for (const oldest of known.keys()) {
      if (known.size <= facilitiesAtMost) break;
      known.delete(oldest);
    }
  };

  const placesOf = async (facilities: readonly string[], oldest: number): Promise<readonly FacilityPlaces[]> => {
    const missing = facilities.filter((facility) => {
      const entry = known.get(facility);
      return entry === undefined || entry.at < oldest;
    });
    if (missing.length > 0) load(missing);
    const entries = facilities.map((facility) => known.get(facility)).filter((entry) => entry !== undefined);
    const places = entries.every(({ loaded }) => loaded)
      ? entries.map(({ seen }) => seen)
      : await Promise.all(entries.map((entry) => entry.places));
    return places.filter((found) => found !== undefined);
  };

  // Nearly every request finds its bay here.
  const seenBay = (facilities: readonly string[], bayId: string): FacilityPlaces | undefined => {
    const since = monotonic() - bayFreshFor;
    for (const facility of facilities) {
      const entry = known.get(facility);
      if (entry?.seen?.bays.has(bayId) && entry.at > since) return entry.seen;
    }
    return undefined;
  };

  return {
    findBay: async (facilities, bayId) => {
      if (facilities.length === 0) return undefined;
      const place = seenBay(facilities, bayId);
      if (place) return place;
      // A bay never changes its facility, so what was seen once stays true however old it is.
      const seen = (await placesOf(facilities, -Infinity)).find(({ bays }) => bays.has(bayId));
      if (seen && monotonic() - (known.get(seen.facilityId)?.at ?? 0) < bayFreshFor) return seen;
      const found = await store.placeOfBay(facilities, bayId);
      if (!found) return undefined;
      known.delete(found.facility_id);
      return { facilityId: found.facility_id, timeZone: found.time_zone };
    },
    facilitiesOfLocations: async (facilities, locationIds) => {
      const places = await placesOf(facilities, monotonic() - freshFor);
      return places
        .filter(({ locations }) => locationIds.some((locationId) => locations.has(locationId)))
        .map(({ facilityId }) => facilityId);
    },
    facilitiesOfBays: async (facilities, bayIds) => {
      const having = async (oldest: number) =>
        (await placesOf(facilities, oldest)).filter(({ bays }) => bayIds.some((bayId) => bays.has(bayId)));
      // A bay never changes its facility, but may have been imported since.
      const seen = await having(-Infinity);
      const known = bayIds.every((bayId) => seen.some(({ bays }) => bays.has(bayId)));
      const found = known ? seen : await having(monotonic() - freshFor);
      return found.map(({ facilityId }) => facilityId);
    },
  };
}

function groupByFacility(rows: readonly PlacedBay[]): ReadonlyMap<string, FacilityPlaces> {
  const found = new Map<string, { facilityId: string; timeZone: string; bays: Set<string>; locations: Set<string> }>();
  for (const { facility_id, time_zone, location_id, bay_id } of rows) {
    let places = found.get(facility_id);
    if (!places) {
      places = { facilityId: facility_id, timeZone: time_zone, bays: new Set(), locations: new Set() };
      found.set(facility_id, places);
    }
    if (bay_id === null || location_id === null) continue;
    places.bays.add(bay_id);
    places.locations.add(location_id);
  }
  return found;
}
