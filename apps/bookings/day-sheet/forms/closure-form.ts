// The form that closes bays for a time, changes a closure, and opens the bays again.
import type { Closure } from '@bay-booking/client';
import type { Period } from '../../src/time/interval.ts';
import { api, backgroundApi } from '../api.ts';
import { findBookings, trackLatest } from '../data/read.ts';
import { changesSince, ifUnchanged, removeIfUnchanged, sendOnce, type Target } from '../data/write.ts';
import { offeredBays, type SheetBooking } from '../day/day.ts';
import { button, h, notify } from '../dom.ts';
import type { FormDraft } from '../sign-in.ts';
import { listBookings } from './affected-bookings.ts';
import { openBooking, readText } from './booking-form.ts';
import { type FormContext, formField, openForm } from './form.ts';
import { readTimes, timeFields } from './time-fields.ts';

/** A closure of years can meet more bookings than the form should read. */
const maxRead = 1_000;

export type NewClosure = Pick<Closure, 'startDate' | 'endDate'> & { readonly bayIds: string[] };

/** `bayIds` is null or undefined for all bays of the location. */
interface ClosedTime extends Period {
  readonly bayIds?: readonly string[] | null;
}

/** `found` are the bookings during the closure, if they are known. */
export function openClosure(
  context: FormContext,
  original: Closure | NewClosure,
  draft?: FormDraft,
  found?: readonly SheetBooking[],
): void {
  const { day, mayClose } = context;
  const { bayIds, startDate, endDate } = original;
  const existing = 'id' in original ? original : undefined;
  const allBays = day.bays.map(({ id }) => id);
  const offered = offeredBays(day);
  /** A closure can also have bays that the form does not offer, for example of other locations. */
  const otherBays = bayIds?.filter((id) => !offered.some(([of]) => of === id)) ?? [];
  const targetOf = ({ id }: Closure, requested?: object): Target<Closure> => ({
    name: 'the closure',
    read: () => api.closures.get(id),
    changesIn: (current) => changesSince(original, requested, current, day),
  });
  const bookingList = h('div');
  const beginSearch = trackLatest();
  const form = openForm(
    {
      title: existing ? 'Closure' : 'Close bays',
      day,
      kind: 'closure',
      context: original,
      content: [
        formField('text', 'reason', 'Reason', existing?.reason ?? ''),
        formField('checkbox', 'whole', 'The whole location', !bayIds),
        formField('checkboxes', 'bayIds', 'Bays', bayIds ?? [], { options: offered }),
        ...timeFields(day, { start: startDate, end: endDate }),
        bookingList,
      ],
      submitLabel: mayClose && (existing ? 'Save' : 'Close the bays'),
      buttons: [existing && mayClose && button('Open again', () => void form.run(remove), { class: 'danger' })],
      save: async (values) => {
        const body = readClosure(values);
        const saved = existing
          ? await ifUnchanged(targetOf(existing, { bayIds: undefined, reason: '', ...body }), ({ etag }) =>
              api.closures.update(existing.id, body, { ifMatch: etag }),
            )
          : await sendOnce(body, (idempotencyKey) => api.closures.create(body, { idempotencyKey }));
        // The closure is saved. A failure of the search must not look like a failure to save.
        const bookings = await findBookingsDuring(saved).catch(() => undefined);
        notify(existing || isOver(saved) ? 'The closure was saved.' : 'The bays are closed.');
        if (!bookings?.length) return true;
        // The bookings stay, so somebody must call these people.
        openClosure(context, saved, undefined, bookings);
        return false;
      },
      reopen: (current, edited) => openClosure(context, current as Closure, edited),
    },
    draft,
  );
  if (found) bookingList.append(describeBookings(found, true));
  else void showBookings(draft ? undefined : existing);
  form.element.addEventListener('input', ({ target }) => {
    if ((target as HTMLInputElement).name !== 'reason') void showBookings();
  });

  function readClosure(values: FormData) {
    const reason = readText(values, 'reason', existing?.reason ?? '');
    const times = readTimes(values, day, { start: startDate, end: endDate });
    const ids = [...values.getAll('bayIds').map(String), ...otherBays];
    return {
      ...(values.has('whole') ? { locationId: day.location.id } : { bayIds: ids }),
      startDate: times.startDate,
      endDate: times.endDate,
      ...(reason && { reason }),
    };
  }

  /** Lists the bookings that the stored closure meets, or that the typed one would meet. */
  async function showBookings(stored?: Closure): Promise<void> {
    const isLatest = beginSearch();
    const find = async () => findBookingsDuring(stored ?? readClosure(form.values()));
    // The form is not complete, or there is no connection.
    const bookings = await find().catch(() => undefined);
    if (isLatest())
      bookingList.replaceChildren(...(bookings ? [describeBookings(bookings, stored !== undefined)] : []));
  }

  async function findBookingsDuring({ bayIds, ...times }: ClosedTime): Promise<SheetBooking[] | undefined> {
    if (bayIds?.length === 0) return undefined;
    return findBookings(backgroundApi, bayIds ?? allBays, times, maxRead);
  }

  async function remove(): Promise<void> {
    if (!existing) return;
    await removeIfUnchanged(targetOf(existing), (options) => api.closures.delete(existing.id, options));
    notify(isOver(existing) ? 'The closure was removed.' : 'The bays are open again.');
  }

  /** A link leaves the form, so there are no links after bays or times were edited. */
  function describeBookings(bookings: readonly SheetBooking[], areLinks: boolean): HTMLElement {
    if (bookings.length === 0) return h('p', 'No bookings during this closure.');
    const title = `Bookings in the closed time${bookings.length < maxRead ? '' : ' (there may be more)'}`;
    return listBookings(title, bookings, day, areLinks ? (booking) => openBooking(context, booking) : undefined);
  }
}

const isOver = ({ endDate }: NewClosure | Closure): boolean => Date.parse(endDate) <= Date.now();
