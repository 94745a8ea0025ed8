// Defines facilities, locations and bays as the management API and the export return them: the entries of an import
// file, and the id of what contains them.
import { knownFields, type OpeningHours } from '../opening-hours/hours.ts';

export interface FacilityResource {
  readonly id: string;
  readonly name: string;
  readonly timeZone: string;
}

export interface LocationResource {
  readonly id: string;
  readonly facilityId: string;
  readonly name: string;
  /** A location without opening hours is always open. */
  readonly openingHours?: OpeningHours;
}

export interface BayResource {
  readonly id: string;
  readonly locationId: string;
  readonly name: string;
  readonly description: string;
  readonly kind: string;
  readonly bookable: boolean;
}

export type PlaceResource = FacilityResource | LocationResource | BayResource;

export type LocationRow = Omit<LocationResource, 'openingHours'> & { readonly openingHours: OpeningHours | null };

export const facilityResource = ({ id, name, timeZone }: FacilityResource): FacilityResource => ({
  id,
  name,
  timeZone,
});

export const locationResource = ({ id, facilityId, name, openingHours }: LocationRow): LocationResource => ({
  id,
  facilityId,
  name,
  ...(openingHours && { openingHours: knownFields(openingHours) }),
});

export const bayResource = ({ id, locationId, name, description, kind, bookable }: BayResource): BayResource => ({
  id,
  locationId,
  name,
  description,
  kind,
  bookable,
});
