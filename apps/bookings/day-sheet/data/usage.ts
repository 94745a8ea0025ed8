// Reads how full the bays were in a week or a month and in the one before, as numbers and as CSV.
import type { BookingLocation, BookingUsageItem, UsageQuery } from '@bay-booking/client';
import { timesOf } from '../../src/time/interval.ts';
import { api, requestText } from '../api.ts';
import { describeActor } from '../day/people.ts';
import { dayOf } from '../day/time.ts';
import { addNames, labelOfUsage, type UsageChoice, usageDates } from '../day/usage.ts';
import { clientId, subject } from '../sign-in.ts';
import { readPeople } from './people.ts';

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
    ...(choice.of === 'location' && { locationIds: [location.id] }),
    ...timesOf({ start, end }),
    by: choice.by,
  };
}

export interface UsageReport {
  readonly items: readonly BookingUsageItem[];
  readonly before: readonly BookingUsageItem[];
  /** Of bays or programs, by id. */
  readonly names: ReadonlyMap<string, string>;
}

export async function readUsage(request: UsageRequest): Promise<UsageReport> {
  const queries = [queryOf(request), queryOf(request, -1)] as const;
  const [{ items }, { items: before }] = await Promise.all([api.usage(queries[0]), api.usage(queries[1])]);
  return { items, before, names: await findNames(request, [...items, ...before]) };
}

async function findNames(
  { location, choice }: UsageRequest,
  items: readonly BookingUsageItem[],
): Promise<ReadonlyMap<string, string>> {
  if (choice.by === 'bay') {
    const isWhole = choice.of === 'facility';
    const bays = await api.bays.list(isWhole ? {} : { locationId: location.id }).toArray();
    return new Map(bays.map((bay) => [bay.id, isWhole ? `${bay.name} · ${bay.location.name}` : bay.name]));
  }
  if (choice.by !== 'client') return new Map();
  const ids = items.flatMap(({ key }) => key ?? []);
  const actorOf = (id: string) => ({ clientId: id, subject: null });
  const people = await readPeople(location.facilityId, ids.map(actorOf));
  const nameOf = (id: string): string => {
    const [name = id, account] = describeActor(actorOf(id), people, { clientId, subject: subject ?? null });
    return account ? `${name} (${account})` : name;
  };
  return new Map(ids.map((id) => [id, nameOf(id)]));
}

/** Saves the CSV of the service as a file. For bays and programs, it also has their names. */
export async function downloadCsv(request: UsageRequest, { items, names }: UsageReport): Promise<void> {
  const { by, usage } = request.choice;
  const { locationIds = [], ...query } = queryOf(request);
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  // The brackets tell the service that a comma is part of the id.
  for (const id of locationIds) search.append('locationIds[]', id);
  const csv = await requestText(`/api/booking-usage?${search}`, 'text/csv');
  const labels = items.map(({ key }) => labelOfUsage(by, key, names));
  const text = by === 'bay' || by === 'client' ? addNames(csv, labels) : csv;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  link.download = `usage-by-${by}-${usageDates(usage, request.date).from}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}
