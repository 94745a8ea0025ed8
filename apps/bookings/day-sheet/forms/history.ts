// Shows who changed a booking, or all bookings of the day, cancelled ones included.
import type { BookingHistory, FacilityPeople, History } from '@bay-booking/client';
import { api } from '../api.ts';
import { type Customer, customerTexts } from '../day/customer.ts';
import { bayNameOf, type Day, nameOf, type SheetBooking } from '../day/day.ts';
import { describeActor } from '../day/people.ts';
import { describeChange } from '../day/sentences.ts';
import { clockAt, rangeOf, shortDateAt } from '../day/time.ts';
import { type Child, h, listOf } from '../dom.ts';
import { clientId } from '../sign-in.ts';
import { openForm } from './form.ts';

type HistoryEntry = BookingHistory['items'][number] | History['items'][number];

const actions = {
  created: 'Booked',
  updated: 'Changed',
  deleted: 'Cancelled',
  erased: 'Personal data erased',
} as const;

/** Each name has its own direction. */
function actorOf({ actor }: HistoryEntry, people: FacilityPeople | undefined, subject: string): Child[] {
  const [name, more] = describeActor(actor, people, { clientId, subject }).map((text) => h('bdi', text));
  return more ? [name, ' (', more, ')'] : [name];
}

/** The state that a creation begins or a deletion ends. */
function stateOf({ changes }: HistoryEntry, side: 'from' | 'to', day: Day): Child[] {
  const fieldOf = (field: string) => String(changes[field]?.[side] ?? '');
  const times = { startDate: fieldOf('startDate'), endDate: fieldOf('endDate') };
  const range = times.endDate && rangeOf(times, day);
  const customer = customerTexts({ metadata: changes.metadata?.[side] } as Customer);
  const bay = bayNameOf(day, fieldOf('bayId'));
  return listOf(nameOf({ userAlias: fieldOf('userAlias') }), bay, range, fieldOf('externalBookingId'), ...customer);
}

/** `name` says whose booking was changed, where the list has several. */
function entryElement(entry: HistoryEntry, day: Day, actor: Child[], name: string | undefined): HTMLElement {
  const { action, at } = entry;
  const changes = Object.entries(entry.changes)
    .map(([field, { from, to }]) => describeChange(field, from, to, day))
    .filter(Boolean);
  const details =
    action === 'created' || action === 'deleted'
      ? stateOf(entry, action === 'created' ? 'to' : 'from', day)
      : [...listOf(name), name !== undefined && changes.length > 0 && ': ', changes.join(', ')];
  return h(
    'li',
    h('strong', `${actions[action]} by `, ...actor),
    h('time', { datetime: at }, `${shortDateAt(at, day.timeZone)} ${clockAt(at, day.timeZone)}`),
    h('span', ...details),
  );
}

/** Shows the history of a booking, or the changes of all bookings of the day, newest first. Returns false. */
export async function showHistory(day: Day, subject: string, booking?: SheetBooking): Promise<false> {
  const entries: HistoryEntry[] = booking
    ? (await api.bookings.history(booking.id, { pageSize: 200 }).toArray()).reverse()
    : await newestOfDay(day);
  // Without names, the changes are still useful.
  const people = await api.people(day.location.facilityId).catch(() => undefined);
  const items = entries.map((entry) => {
    const name = booking ? undefined : nameIn(entries, entry, day);
    return entryElement(entry, day, actorOf(entry, people, subject), name);
  });
  openForm({
    title: booking ? `History of ${nameOf(booking)}` : 'Changes of this day',
    day,
    kind: 'history',
    content: [items.length > 0 ? h('ul.history', ...items) : h('p', 'Nothing was booked or changed.')],
  });
  return false;
}

/** An update has the name only if it changes the name. The booking may be gone, but not the entry of its creation. */
function nameIn(entries: readonly HistoryEntry[], entry: HistoryEntry, day: Day): string | undefined {
  const idOf = (one: HistoryEntry) => ('bookingId' in one ? one.bookingId : '');
  const current = day.bookings.get(idOf(entry))?.userAlias;
  const names = entries.filter((one) => idOf(one) === idOf(entry)).map(({ changes: { userAlias } }) => userAlias);
  const userAlias = current ?? names.map((name) => name?.to ?? name?.from).find((name) => typeof name === 'string');
  return typeof userAlias === 'string' ? nameOf({ userAlias }) : undefined;
}

/** Reads one page: a busy day has more changes than anybody reads. */
async function newestOfDay(day: Day): Promise<HistoryEntry[]> {
  const { data } = await api.request('listHistory', {
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
