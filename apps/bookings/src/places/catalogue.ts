// Which facility does a bay or a location belong to? Asked by nearly every request and changed by imports alone, so
// the answers are kept for a moment per facility. Whether a bay may be booked is never answered from here: the database decides that.
import type { PlacedBay, PlacesStore } from './store.ts';

export interface BayPlace {
  readonly facilityId: string;
}

interface FacilityPlaces {
  readonly facilityId: string;
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

const freshFor = 60_000;
const facilitiesAtMost = 10_000;

export function createCatalogue(options: {
  readonly store: Pick<PlacesStore, 'placesOf' | 'facilitiesOfBays' | 'facilitiesOfLocations'>;
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

  const placesOf = async (facilities: readonly string[]): Promise<readonly FacilityPlaces[]> => {
    const since = monotonic() - freshFor;
    const missing = facilities.filter((facility) => (known.get(facility)?.at ?? -Infinity) <= since);
    if (missing.length > 0) load(missing);
    const entries = facilities.map((facility) => known.get(facility)).filter((entry) => entry !== undefined);
    const places = entries.every(({ loaded }) => loaded)
      ? entries.map(({ seen }) => seen)
      : await Promise.all(entries.map((entry) => entry.places));
    return places.filter((found) => found !== undefined);
  };

  // Nearly every request finds its bay here.
  const seenBay = (facilities: readonly string[], bayId: string): FacilityPlaces | undefined => {
    const since = monotonic() - freshFor;
    for (const facility of facilities) {
      const entry = known.get(facility);
      if (entry?.seen?.bays.has(bayId) && entry.at > since) return entry.seen;
    }
    return undefined;
  };

  // Neither a bay nor a location ever changes its facility: what was seen once stays true, what was not may have been imported since.
  const facilitiesHaving = async (
    what: 'bays' | 'locations',
    facilities: readonly string[],
    ids: readonly string[],
  ): Promise<readonly string[]> => {
    const seen = await placesOf(facilities);
    const having = new Set(
      seen.filter((places) => ids.some((id) => places[what].has(id))).map(({ facilityId }) => facilityId),
    );
    const unknown = ids.filter((id) => !seen.some((places) => places[what].has(id)));
    if (unknown.length > 0) {
      const ask = what === 'bays' ? store.facilitiesOfBays : store.facilitiesOfLocations;
      for (const facility of await ask(facilities, unknown)) {
        known.delete(facility);
        having.add(facility);
      }
    }
    return facilities.filter((facility) => having.has(facility));
  };

  return {
    findBay: async (facilities, bayId) => {
      if (facilities.length === 0) return undefined;
      const place = seenBay(facilities, bayId);
      if (place) return place;
      const [facilityId] = await facilitiesHaving('bays', facilities, [bayId]);
      return facilityId === undefined ? undefined : { facilityId };
    },
    facilitiesOfLocations: (facilities, locationIds) => facilitiesHaving('locations', facilities, locationIds),
    facilitiesOfBays: (facilities, bayIds) => facilitiesHaving('bays', facilities, bayIds),
  };
}

function groupByFacility(rows: readonly PlacedBay[]): ReadonlyMap<string, FacilityPlaces> {
  const found = new Map<string, { facilityId: string; bays: Set<string>; locations: Set<string> }>();
  for (const { facility_id, location_id, bay_id } of rows) {
    let places = found.get(facility_id);
    if (!places) {
      places = { facilityId: facility_id, bays: new Set(), locations: new Set() };
      found.set(facility_id, places);
    }
    places.bays.add(bay_id);
    places.locations.add(location_id);
  }
  return found;
}
