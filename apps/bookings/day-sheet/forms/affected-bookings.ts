// Finds and lists the bookings that a closure or new opening hours meet.
import type { SetOpeningHours } from '@bay-booking/client';
import { createSchedule } from '../../src/opening-hours/schedule.ts';
import { intervalOf } from '../../src/time/interval.ts';
import { api } from '../api.ts';
import { findBookings } from '../data/read.ts';
import { bayNameOf, type Day, nameOf, type SheetBooking } from '../day/day.ts';
import { rangeOf } from '../day/time.ts';
import { h, link, listOf } from '../dom.ts';
import type { Form } from './form.ts';

const maxListed = 200;

/** `title` says which bookings these are. */
export function listBookings(
  title: string,
  bookings: readonly SheetBooking[],
  day: Day,
  open?: (booking: SheetBooking) => void,
): HTMLElement {
  const itemOf = (booking: SheetBooking) => {
    const label = listOf(nameOf(booking), bayNameOf(day, booking.bayId), rangeOf(booking, day));
    return h('li', ...(open ? [link(label, () => open(booking))] : label));
  };
  const [count, more] = [bookings.length, bookings.length - maxListed];
  const summary = `${title}: ${count}. They stay until you move or cancel them.`;
  const items = bookings.slice(0, maxListed).map(itemOf);
  const rest = more > 0 && h('p', `${more} later bookings are not listed.`);
  return h('div', { role: 'status' }, h('p', summary), h('ul', ...items), rest);
}

/**
 * Returns a function that lists the bookings which a change affects before the change is saved. It returns false if
 * there are none, or if the user has seen them and edited nothing since.
 */
export function createAffectedList(form: Form, day: Day) {
  let isSeen = false;
  form.element.addEventListener('input', () => {
    isSeen = false;
    form.showBelow();
    form.setSubmitLabel('Save');
  });
  return async (title: string, find: () => Promise<{ bookings: readonly SheetBooking[]; isComplete: boolean }>) => {
    if (isSeen) return false;
    const { bookings, isComplete } = await find();
    if (bookings.length === 0 && isComplete) return false;
    isSeen = true;
    const more = isComplete ? '' : ' (there may be more)';
    form.showBelow(listBookings(`Nothing is saved yet. ${title}${more}`, bookings, day));
    form.setSubmitLabel('Save anyway');
    return true;
  };
}

const maxCompared = 20_000;

/** Finds the bookings that have not ended and would be outside the opening hours. */
export async function findOutside(day: Day, hours: SetOpeningHours) {
  const schedule = createSchedule({ exceptions: [], ...hours }, day.timeZone);
  const ids = day.bays.map(({ id }) => id);
  const found = await findBookings(api, ids, { startDate: new Date().toISOString() }, maxCompared);
  const bookings = found
    .filter((booking) => !schedule.isOpenThroughout(intervalOf(booking)))
    .sort((a, b) => a.startDate.localeCompare(b.startDate));
  return { bookings, isComplete: found.length < maxCompared };
}
