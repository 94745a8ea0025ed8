// Shows who changed a booking, or all bookings of the day, cancelled ones included.
import type { BookingHistory, History } from '@bay-booking/client';
import { client } from '../api.ts';
import { bayNameOf, type Day, type SheetBooking } from '../day/day.ts';
import { describeError, shortTime, timesOf } from '../day/sentences.ts';
import { clockAt, shortDateAt } from '../day/time.ts';
import { h } from '../dom.ts';
import { openForm } from './form.ts';

type Entry = BookingHistory['items'][number] | History['items'][number];

const actions = {
  created: 'Booked',
  updated: 'Changed',
  deleted: 'Cancelled',
  erased: 'Personal data erased',
} as const;
const labels: Readonly<Record<string, string>> = {
  userAlias: 'name',
  bayId: 'bay',
  startDate: 'from',
  endDate: 'to',
  externalBookingId: 'reference',
  correlationId: 'correlation id',
  groupId: 'party',
  metadata: 'metadata',
};

function actorOf({ actor: { clientId, subject } }: Entry, ownSubject: string): string {
  if (!clientId) return 'the service itself';
  if (subject === ownSubject) return 'you';
  return subject && subject !== clientId ? `${subject} with ${clientId}` : clientId;
}

const shownValue = (field: string, value: unknown, day: Day): string => {
  if (value === null || value === undefined) return 'nothing';
  if (field === 'bayId') return bayNameOf(day, String(value));
  if (field.endsWith('Date')) return shortTime(String(value), day);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** The state that a creation begins or a deletion ends. */
function stateOf({ changes }: Entry, side: 'from' | 'to', day: Day): string {
  const valueOfField = (field: string) => String(changes[field]?.[side] ?? '');
  const times = { startDate: valueOfField('startDate'), endDate: valueOfField('endDate') };
  const bay = bayNameOf(day, valueOfField('bayId'));
  const parts = [
    valueOfField('userAlias'),
    bay,
    times.endDate && timesOf(times, day),
    valueOfField('externalBookingId'),
  ];
  return parts.filter(Boolean).join(', ');
}

/** `name` says whose booking was changed, where the list has several. */
function entryElement(entry: Entry, day: Day, subject: string, name: string | undefined): HTMLElement {
  const { action, at, changes } = entry;
  const changed = Object.entries(changes).map(
    ([field, { from, to }]) =>
      `${labels[field] ?? field}: ${shownValue(field, from, day)} → ${shownValue(field, to, day)}`,
  );
  const state = { created: 'to', deleted: 'from' } as const;
  const details =
    action === 'created' || action === 'deleted'
      ? stateOf(entry, state[action], day)
      : [name, changed.join('; ')].filter(Boolean).join(': ');
  const when = `${shortDateAt(at, day.timeZone)} ${clockAt(at, day.timeZone)}`;
  return h(
    'li',
    {},
    h('strong', {}, `${actions[action]} by ${actorOf(entry, subject)}`),
    h('time', { datetime: at }, when),
    h('span', {}, details),
  );
}

/** Shows the history of a booking, or the changes of all bookings of the day, newest first. Returns false. */
export async function showHistory(day: Day, subject: string, booking?: SheetBooking): Promise<false> {
  const entries: Entry[] = booking
    ? (await client.bookings.history(booking.id, { pageSize: 200 }).toArray()).reverse()
    : await newestOfDay(day);
  const items = entries.map((entry) =>
    entryElement(entry, day, subject, booking ? undefined : nameOf(entry, entries, day)),
  );
  const list = h('ul', { class: 'history', tabindex: 0 }, ...items);
  openForm({
    title: booking ? `History of ${booking.userAlias}` : 'Changes of this day',
    draft: { kind: 'history', context: booking ?? null },
    fields: [],
    content: [entries.length > 0 ? list : h('p', {}, 'Nothing was booked or changed.')],
    describe: (error) => describeError(error, day),
  });
  return false;
}

/** An update has the name only if it changes the name. The booking may be gone, but not the entry of its creation. */
function nameOf(entry: Entry, entries: readonly Entry[], day: Day): string | undefined {
  const idOf = (one: Entry) => ('bookingId' in one ? one.bookingId : '');
  const current = day.bookings.get(idOf(entry))?.userAlias;
  const names = entries.filter((one) => idOf(one) === idOf(entry)).map(({ changes: { userAlias } }) => userAlias);
  return current ?? names.map((name) => name?.to ?? name?.from).find((name) => typeof name === 'string');
}

/** Reads one page: a busy day has more changes than anybody reads. */
async function newestOfDay(day: Day): Promise<Entry[]> {
  const { data } = await client.request('listHistory', {
    query: {
      facilityId: day.location.facilityId,
      bayIds: day.bays.map(({ id }) => id),
      startDate: new Date(day.start).toISOString(),
      endDate: new Date(day.end).toISOString(),
      pageSize: 500,
    },
  });
  return data.items;
}
