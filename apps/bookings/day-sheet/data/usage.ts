// Reads how full the bays were in a week or a month and in the one before, as numbers and as CSV.
import type { BookingLocation, BookingUsageItem, UsageQuery } from '@bay-booking/client';
import { timesOf } from '../../src/time/interval.ts';
import { api, requestText } from '../api.ts';
import { dayOf } from '../day/time.ts';
import { addNames, labelOfUsage, type UsageChoice, usageDates } from '../day/usage.ts';

export interface UsageRequest {
  readonly location: BookingLocation;
  readonly choice: UsageChoice;
  /** A date of the week or month. */
  readonly date: string;
}

function queryOf({ location, choice, date }: UsageRequest, offset = 0): UsageQuery {
  const { from, to } = usageDates(choice.usage, date, offset);
  const [start, end] = [from, to].map((day) => dayOf(day, location.timeZone).start) as [number, number];
  return {
    facilityId: location.facilityId,
    locationIds: [location.id],
    ...timesOf({ start, end }),
    by: choice.by,
  };
}

export interface UsageReport {
  readonly items: readonly BookingUsageItem[];
  readonly before: readonly BookingUsageItem[];
  readonly labelOf: (key: string | null) => string;
}

export async function readUsage(request: UsageRequest): Promise<UsageReport> {
  const { by } = request.choice;
  const { id, facilityId } = request.location;
  const [{ items }, { items: before }, bays, people] = await Promise.all([
    api.usage(queryOf(request)),
    api.usage(queryOf(request, -1)),
    by === 'bay' ? api.bays.list({ locationId: id }).toArray() : [],
    by === 'client' ? api.people(facilityId).catch(() => undefined) : undefined,
  ]);
  return { items, before, labelOf: (key) => labelOfUsage(by, key, bays, people) };
}

/** Saves the CSV of the service as a file. For bays and programs, it also has their names. */
export async function downloadCsv(request: UsageRequest, { items, labelOf }: UsageReport): Promise<void> {
  const { by, usage } = request.choice;
  const { locationIds = [], ...query } = queryOf(request);
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  // The brackets tell the service that a comma is part of the id.
  for (const id of locationIds) search.append('locationIds[]', id);
  const csv = await requestText(`/api/booking-usage?${search}`, 'text/csv');
  const labels = items.map(({ key }) => labelOf(key));
  const text = by === 'bay' || by === 'client' ? addNames(csv, labels) : csv;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  link.download = `usage-by-${by}-${usageDates(usage, request.date).from}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}
