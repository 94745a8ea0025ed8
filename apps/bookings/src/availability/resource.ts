// Maps availability to the JSON of responses.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { type ListRequest, listResponse } from '../http/pagination.ts';
import type { BayRow } from '../places/store.ts';
import type { Interval } from '../time/interval.ts';

export const availabilityPath = '/api/booking-availability';

/** Returns the gaps of a bay: the times when it is free. Gaps that are shorter than `minMinutes` are left out. */
export function bayAvailability(bay: BayRow, gaps: readonly Interval[], minMinutes = 0) {
  const { id, name, bookable, locationId, locationName, facilityId, timeZone } = bay;
  const longEnough = gaps.filter(({ start, end }) => end - start >= minMinutes * 60_000);
  return {
    bay: { id, name, bookable },
    location: { id: locationId, name: locationName, facilityId, timeZone },
    free: longEnough.map(({ start, end }) => ({ startDate: toText(start), endDate: toText(end) })),
    _links: {},
  };
}

export interface AvailabilityPage {
  readonly items: readonly ReturnType<typeof bayAvailability>[];
  /** When the bays were read. */
  readonly asOf: string;
  readonly total: number;
}

export function availabilityResponse(
  { items, asOf, total }: AvailabilityPage,
  request: Omit<ListRequest, 'path'>,
  link: MakeLink,
): EndpointResponse {
  const { body, headers } = listResponse({ ...request, path: availabilityPath }, items, total, link);
  return {
    status: 200,
    // `body` also contains `items`. They are named here so that `asOf` comes directly after them in the JSON.
    body: { items, asOf, ...(body as object) },
    headers: { ...headers, 'Cache-Control': 'no-store' },
  };
}

const dayMs = 86_400_000;
/** The rest of an instant's text for each minute of a day. */
const minutes = Array.from({ length: 1440 }, (_, minute) => new Date(minute * 60_000).toISOString().slice(11));
let latest = { day: Number.NaN, date: '' };

/** A page has hundreds of instants. `toISOString` alone would take a quarter of the CPU time of a request. */
function toText(instant: number): string {
  const day = Math.floor(instant / dayMs);
  const minute = minutes[(instant - day * dayMs) / 60_000];
  if (minute === undefined) return new Date(instant).toISOString();
  if (day !== latest.day) latest = { day, date: new Date(instant).toISOString().slice(0, 11) };
  return latest.date + minute;
}
