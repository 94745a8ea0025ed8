// Gives the day sheet of the demo a day with life: bookings of today and of the last week, a league, closures and
// opening hours. Every start adds what is missing, so a new day has bookings too.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Temporal } from 'temporal-polyfill';
import { withClient } from './databases.ts';
import type { Settings } from './settings.ts';

type BookingRow = readonly [
  bay: number,
  from: string,
  to: string,
  name: string,
  metadata?: Readonly<Record<string, string>>,
];

/**
 * The bookings of today, of the days before, the last day first, and of the league. Rows with the same time and name
 * are a party. Bay 2 is free for the README, which lists what is upcoming there.
 */
const { today, week, league }: { today: BookingRow[]; week: BookingRow[][]; league: BookingRow[] } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../demo/day.json'), 'utf8'),
);
const leagueWeeks = 8;

const facilityId = 'fac-north';
const locationId = 'loc-north-1';
const timeZone = 'Europe/Copenhagen';

export interface DemoBooking {
  readonly externalBookingId: string;
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Bookings with the same value are a group. */
  readonly group: string;
}

const instantAt = (date: Temporal.PlainDate, clock: string): string =>
  new Date(date.toZonedDateTime({ timeZone, plainTime: clock }).epochMilliseconds).toISOString();

function bookingsOn(date: Temporal.PlainDate, rows: readonly BookingRow[], now: string): DemoBooking[] {
  const groupAt = (row: BookingRow) => rows.findIndex(([, from, , name]) => from === row[1] && name === row[3]);
  return rows.map((row, index) => {
    const [bay, from, to, userAlias, { attendance, ...metadata } = {}] = row;
    const startDate = instantAt(date, from);
    return {
      externalBookingId: `demo-${date}-${index + 1}`,
      bayId: `bay-n1-${String(bay).padStart(2, '0')}`,
      userAlias,
      startDate,
      endDate: instantAt(date, to),
      metadata: { demo: 'yes', ...metadata, ...(attendance && startDate < now && { attendance }) },
      group: `${date}-${groupAt(row)}`,
    };
  });
}

/** The ids depend only on the date, so another start on the same day does not book again. */
export function demoBookings(now: string): DemoBooking[] {
  const date = Temporal.Instant.from(now).toZonedDateTimeISO(timeZone).toPlainDate();
  const before = week.flatMap((rows, index) => bookingsOn(date.subtract({ days: index + 1 }), rows, now));
  const ofLeague = Array.from({ length: leagueWeeks }, (_, index) =>
    bookingsOn(date.add({ weeks: index }), league, now),
  ).flat();
  return [
    ...before,
    ...bookingsOn(date, today, now),
    // The league has the same ids on every day, because only the first start makes it.
    ...ofLeague.map((one, index) => ({ ...one, externalBookingId: `demo-league-${index + 1}`, group: 'league' })),
  ];
}

const isOver = (now: string) => (booking: DemoBooking) => booking.endDate < now;

const insertPast = `with past as (
  select id, after, client_id, subject, after ->> 'externalBookingId' as external_booking_id, after ->> 'bayId' as bay_id,
    (after ->> 'groupId')::uuid as group_id, (after ->> 'startDate')::timestamptz as start_date,
    (after ->> 'endDate')::timestamptz as end_date, (after ->> 'createdAt')::timestamptz as created_at
  from jsonb_to_recordset($3) as past (id uuid, after jsonb, client_id text, subject text)
), referenced as (
  insert into booking_reference (external_booking_id, facility_id, booking_id)
  select external_booking_id, $1, id from past
  where not exists (select from booking where facility_id = $1 and booking.bay_id = past.bay_id
    and booking.start_date < past.end_date and booking.end_date > past.start_date)
  on conflict do nothing returning booking_id
), made as (
  insert into booking (facility_id, id, location_id, bay_id, external_booking_id, group_id, user_alias, start_date,
    end_date, metadata, created_at, last_updated_at)
  select $1, id, $2, bay_id, external_booking_id, group_id, after ->> 'userAlias', start_date, end_date,
    after -> 'metadata', created_at, created_at
  from past where id in (select booking_id from referenced)
)
insert into booking_change (facility_id, booking_id, version, at, action, client_id, subject, after)
select $1, id, 1, created_at, 'created', client_id, subject, after
from past where id in (select booking_id from referenced)`;

/** The website books, and so does the owner at the desk. */
const authors = [
  { client_id: 'demo-pat-north', subject: 'acc-bot-north' },
  { client_id: 'demo-day-sheet', subject: 'acc-owner-north' },
] as const;

/** Writes the bookings that are over into the database, because the API rejects bookings in the past. */
export async function loadPast(ownerUrl: string, now: string): Promise<void> {
  const groups = Map.groupBy(demoBookings(now).filter(isOver(now)), ({ group }) => group);
  const past = [...groups.values()].flatMap((members, position) => {
    const groupId = members.length > 1 ? randomUUID() : null;
    return members.map(({ group: _, ...booking }) => {
      const id = randomUUID();
      const createdAt = new Date(Date.parse(booking.startDate) - 86_400_000).toISOString();
      const times = { createdAt, lastUpdatedAt: createdAt };
      return {
        id,
        after: { id, ...booking, correlationId: null, groupId, locationId, ...times },
        ...authors[position % 2],
      };
    });
  });
  await withClient(ownerUrl, (client) => client.query(insertPast, [facilityId, locationId, JSON.stringify(past)]));
}

/** Books the rest of the day, closes bays and sets opening hours. What exists already, or is taken, stays. */
export async function bookDay({ issuer, baseUrl, scopeBase }: Settings, now: string, stop: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(20_000)]);
  async function fetchJson<Body>(url: string, init: RequestInit): Promise<Body | undefined> {
    const response = await fetch(url, { ...init, signal });
    const text = await response.text();
    // The time is taken, or an earlier start has booked it.
    if (response.status === 400 && text.includes('BOOK0000')) return undefined;
    if (!response.ok) throw new Error(`${url} returned ${response.status} ${text}`);
    return JSON.parse(text);
  }
  const open = async (id: string, scopes: readonly string[]) => {
    const scope = scopes.map((name) => `${scopeBase}/golf/${name}`).join(' ');
    const headers = { Authorization: `Basic ${btoa(`${id}:${id}-secret`)}` };
    const body = new URLSearchParams({ grant_type: 'client_credentials', scope });
    const token = await fetchJson<{ access_token: string }>(`${issuer}/connect/token`, {
      method: 'POST',
      headers,
      body,
    });
    return <Body>(method: string, path: string, json?: object) =>
      fetchJson<Body>(`${baseUrl}/api/${path}`, {
        method,
        headers: { Authorization: `Bearer ${token?.access_token}`, 'Content-Type': 'application/json' },
        ...(json && { body: JSON.stringify(json) }),
      });
  };

  const asWebsite = await open('demo-pat-north', ['bookings']);
  const upcoming = demoBookings(now).filter((booking) => !isOver(now)(booking));
  for (const members of Map.groupBy(upcoming, ({ group }) => group).values()) {
    const [first, ...others] = members.map(({ group: _, ...booking }) => booking);
    if (others.length === 0) await asWebsite('POST', 'bookings', first);
    else await asWebsite('POST', 'booking-groups', { bookings: [first, ...others] });
  }

  const asManager = await open('demo-pat-north-manage', ['bookings', 'schedule']);
  const date = Temporal.Instant.from(now).toZonedDateTimeISO(timeZone).toPlainDate();
  const ofToday = { startDate: instantAt(date, '00:00'), endDate: instantAt(date.add({ days: 1 }), '00:00') };
  const query = new URLSearchParams({ locationIds: locationId, ...ofToday });
  const closures = await asManager<{ items: unknown[] }>('GET', `booking-closures?${query}`);
  if (closures?.items.length === 0)
    for (const [bayId, from, to, reason] of [
      ['bay-n1-09', '12:00', '14:00', 'Net repair'],
      ['bay-n1-04', '20:30', '22:00', 'New mat'],
    ] as const)
      await asManager('POST', 'booking-closures', {
        bayIds: [bayId],
        startDate: instantAt(date, from),
        endDate: instantAt(date, to),
        reason,
      });

  const hours = await asManager<{ alwaysOpen: boolean }>('GET', `booking-locations/${locationId}/opening-hours`);
  if (!hours?.alwaysOpen) return;
  // Every hour from today on can be booked, because people try the demo at any time.
  const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
  await asManager('PUT', `booking-locations/${locationId}/opening-hours`, {
    weekly: Object.fromEntries(weekdays.map((day) => [day, [{ opens: '00:00', closes: '00:00' }]])),
    exceptions: week.map((_, index) => ({
      date: date.subtract({ days: index + 1 }).toString(),
      hours: [{ opens: '07:00', closes: '22:00' }],
    })),
  });
}
