// Finds bookings of all days by name, reference, phone, note or other metadata.
import type { BookingLocation, BookingSearch } from '@bay-booking/client';
import { api } from '../api.ts';
import { customerTexts } from '../day/customer.ts';
import { type Day, nameOf, type SheetBooking } from '../day/day.ts';
import { dateAt, rangeOf } from '../day/time.ts';
import { button, h, link, listOf, notify } from '../dom.ts';
import { openBooking } from '../forms/booking-form.ts';
import { type FormContext, openForm } from '../forms/form.ts';

const dayMs = 86_400_000;
/** The API searches a text within 400 days. */
const windowMs = 400 * dayMs;
const maxWindows = 10;
const pageSize = 100;

/** Yields the upcoming bookings from now on, or the past ones from now back. Reads one page at a time. */
async function* find(text: string, isActive: boolean): AsyncGenerator<SheetBooking> {
  const search = async (query: BookingSearch) =>
    (await api.request('searchBookings', { query: { isActive, pageSize, ...query } })).data;
  const now = Date.now();
  const seen = new Set<string>();
  for (let window = 0; window < maxWindows; window += 1) {
    const [near, far] = [window, window + 1].map((count) =>
      new Date(now + (isActive ? count : -count) * windowMs).toISOString(),
    ) as [string, string];
    const query = { text, startDate: isActive ? near : far, endDate: isActive ? far : near };
    const first = await search(query);
    for (let number = 1; number <= first.pageCount; number += 1) {
      const page = isActive ? number : first.pageCount + 1 - number;
      const { items } = page === 1 ? first : await search({ ...query, page });
      // A booking over the end of a window is in two of them.
      const added = items.filter(({ id }) => !seen.has(id));
      for (const { id } of added) seen.add(id);
      yield* isActive ? added : added.toReversed();
    }
    const beyond = await search({ pageSize: 1, ...(isActive ? { startDate: far } : { endDate: far }) });
    if (beyond.total === 0) return;
  }
}

export interface SearchOptions {
  readonly text: string;
  readonly day: Day;
  readonly locations: readonly BookingLocation[];
  readonly contextNow: () => FormContext;
  readonly go: (locationId: string, date: string) => void;
}

/** Shows the upcoming bookings before the past ones, with a button for more. */
export async function searchAllDays({ text, day, locations, contextNow, go }: SearchOptions): Promise<void> {
  if (!text) return notify('Type a name, a reference or a phone number into the field “Search” first.');
  const bays = new Map((await api.bays.list().toArray()).map((bay) => [bay.id, bay]));
  const sections = [true, false].map((isActive) => ({
    found: find(text, isActive),
    heading: h('h3', isActive ? 'Upcoming' : 'Past'),
    list: h('ul.history'),
  }));
  const more = button('Show more', () => form.run(showMore));
  const none = h(
    'p',
    { hidden: true },
    'No booking has this text in its name, reference, phone, note or other fields.',
  );
  const content = sections.flatMap(({ heading, list }) => [heading, list]);
  const pending = [...sections];

  async function showMore(): Promise<false> {
    let shown = 0;
    while (shown < pageSize && pending[0]) {
      const { value, done } = await pending[0].found.next();
      if (done) pending.shift();
      else pending[0].list.append(h('li', openLink(value)));
      shown += done ? 0 : 1;
    }
    for (const { heading, list } of sections) heading.hidden = list.childElementCount === 0;
    none.hidden = sections.some(({ heading }) => !heading.hidden);
    more.hidden = pending.length === 0;
    return false;
  }

  await showMore();
  const form = openForm({ title: `Bookings with “${text}”`, day, kind: 'search', content: [none, ...content, more] });

  function openLink(booking: SheetBooking): HTMLElement {
    const bay = bays.get(booking.bayId);
    const location = locations.find(({ id }) => id === bay?.locationId) ?? day.location;
    const range = rangeOf(booking, { ...day, timeZone: location.timeZone, start: 0, end: 0 });
    const open = async () => {
      if (day.bookings.has(booking.id)) {
        openBooking(contextNow(), booking);
        return false;
      }
      go(location.id, dateAt(Date.parse(booking.startDate), location.timeZone));
      return true;
    };
    const label = listOf(nameOf(booking), range, bay?.name ?? '', location.name, ...customerTexts(booking));
    return link(label, () => void form.run(open));
  }
}
