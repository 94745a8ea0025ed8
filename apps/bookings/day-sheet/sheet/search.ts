// Finds the bookings of a name on all days.
import { client } from '../api.ts';
import type { Day, SheetBooking } from '../day/day.ts';
import { timesOf } from '../day/sentences.ts';
import { dateAt } from '../day/time.ts';
import { button, h, notify } from '../dom.ts';
import { type FormContext, openBooking } from '../forms/booking-form.ts';
import { openForm } from '../forms/form.ts';

/** The API compares the whole name. */
export async function searchAllDays(
  userAlias: string,
  day: Day,
  contextNow: () => FormContext,
  go: (locationId: string, date: string) => void,
): Promise<void> {
  if (!userAlias) return notify('Type the whole name into the field “Search” first.');
  const search = (isActive: boolean) =>
    client.request('searchBookings', { query: { userAlias, isActive, pageSize: 50 } });
  // The next visits come first.
  const pages = await Promise.all([search(true), search(false)]);
  const found = pages.flatMap(({ data }) => data.items);
  const form = openForm({
    title: `Bookings of ${userAlias}`,
    day,
    kind: 'search',
    content: [
      found.length === 0 && h('p', {}, 'No booking has exactly this name.'),
      h('ul', { class: 'history' }, ...found.map((booking) => h('li', {}, openLink(booking)))),
    ],
  });

  function openLink(booking: SheetBooking): HTMLElement {
    const bay = day.bays.find(({ id }) => id === booking.bayId);
    const label = `${timesOf(booking, { ...day, start: 0, end: 0 })}${bay ? `, ${bay.name}` : ''}`;
    const open = async () => {
      if (day.bookings.has(booking.id)) {
        openBooking(contextNow(), booking);
        return false;
      }
      const bays = await client.bays.list().toArray();
      const locationId = bays.find(({ id }) => id === booking.bayId)?.locationId ?? day.location.id;
      const { timeZone } = await client.locations.get(locationId);
      go(locationId, dateAt(Date.parse(booking.startDate), timeZone));
      return true;
    };
    return button(label, () => void form.run(open), { class: 'link' });
  }
}
