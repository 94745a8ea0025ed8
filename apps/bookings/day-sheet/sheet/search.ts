// Finds the bookings of a name on all days.
import { client } from '../api.ts';
import type { Day, SheetBooking } from '../day/day.ts';
import { describeError, timesOf } from '../day/sentences.ts';
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
  const { data } = await client.request('searchBookings', { query: { userAlias, pageSize: 100 } as never });
  const form = openForm({
    title: `Bookings of ${userAlias}`,
    draft: { kind: 'search', context: null },
    fields: [],
    content: [
      data.items.length === 0 && h('p', {}, 'No booking has exactly this name.'),
      h('ul', { class: 'history' }, ...data.items.map((booking) => h('li', {}, openLink(booking)))),
    ],
    describe: (error) => describeError(error, day),
  });

  function openLink(booking: SheetBooking): HTMLElement {
    const bay = day.bays.find(({ id }) => id === booking.bayId);
    const label = `${timesOf(booking, { ...day, start: 0, end: 0 })}${bay ? `, ${bay.name}` : ''}`;
    const open = async () => {
      if (day.bookings.has(booking.id)) return openBooking(contextNow(), booking);
      const { data: bays } = await client.request('listBookingBays', { query: { ids: [booking.bayId] } as never });
      form.close();
      go(
        bays.items.find(({ id }) => id === booking.bayId)?.locationId ?? day.location.id,
        dateAt(Date.parse(booking.startDate), day.timeZone),
      );
    };
    return button(label, open, { class: 'link' });
  }
}
