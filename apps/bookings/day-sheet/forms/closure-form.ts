// The form that closes bays for a time, changes a closure, and opens the bays again.
import type { Closure } from '@bay-booking/client';
import { api } from '../api.ts';
import { findBookings } from '../data/read.ts';
import { changesSince, ifUnchanged, removeIfUnchanged, sendOnce, type Target } from '../data/write.ts';
import { offeredBays, type SheetBooking } from '../day/day.ts';
import { button, h, notify } from '../dom.ts';
import type { FormDraft } from '../sign-in.ts';
import { listBookings } from './affected-bookings.ts';
import { openBooking, readText } from './booking-form.ts';
import { type FormContext, formField, openForm } from './form.ts';
import { readTimes, timeFields } from './time-fields.ts';

export type NewClosure = Pick<Closure, 'startDate' | 'endDate'> & { readonly bayIds: string[] };

export function openClosure(context: FormContext, original: Closure | NewClosure, draft?: FormDraft): void {
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
  const bookingsIn = (closure: Closure): Promise<SheetBooking[]> =>
    findBookings(api, closure.bayIds ?? allBays, closure);
  const form = openForm(
    {
      title: existing ? 'Closure' : 'Close bays',
      day,
      kind: 'closure',
      context: original,
      content: [
        formField('text', 'reason', 'Reason', existing?.reason ?? '', { maxlength: 256 }),
        formField('checkbox', 'whole', 'The whole location', !bayIds),
        formField('checkboxes', 'bayIds', 'Bays', bayIds ?? [], { options: offered }),
        ...timeFields(day, { start: startDate, end: endDate }),
      ],
      submitLabel: mayClose && (existing ? 'Save' : 'Close the bays'),
      buttons: [existing && mayClose && button('Open again', () => void form.run(remove), { class: 'danger' })],
      save: async (values) => {
        const reason = readText(values, 'reason', existing?.reason ?? '');
        const times = readTimes(values, day, { start: startDate, end: endDate });
        const isWhole = values.has('whole');
        const body = {
          ...(isWhole
            ? { locationId: day.location.id }
            : { bayIds: [...values.getAll('bayIds').map(String), ...otherBays] }),
          startDate: times.startDate,
          endDate: times.endDate,
          ...(reason && { reason }),
        };
        const saved = existing
          ? await ifUnchanged(targetOf(existing, { bayIds: undefined, reason, ...body }), ({ etag }) =>
              api.closures.update(existing.id, body, { ifMatch: etag }),
            )
          : await sendOnce(body, (idempotencyKey) => api.closures.create(body, { idempotencyKey }));
        // The closure is saved. A failure of the search must not look like a failure to save.
        const conflicts = await bookingsIn(saved).catch(() => []);
        notify(existing || isOver(saved) ? 'The closure was saved.' : 'The bays are closed.');
        if (conflicts.length === 0) return true;
        // The bookings stay, so somebody must call these people.
        openClosure(context, saved);
        return false;
      },
      reopen: (current, edited) => openClosure(context, current as Closure, edited),
    },
    draft,
  );
  if (existing)
    void bookingsIn(existing).then(
      (conflicts) => form.showBelow(listConflicts(conflicts)),
      () => undefined,
    );

  async function remove(): Promise<void> {
    if (!existing) return;
    await removeIfUnchanged(targetOf(existing), (options) => api.closures.delete(existing.id, options));
    notify(isOver(existing) ? 'The closure was removed.' : 'The bays are open again.');
  }

  function listConflicts(conflicts: readonly SheetBooking[]): HTMLElement {
    if (conflicts.length === 0) return h('p', 'No bookings during this closure.');
    return listBookings('Bookings in the closed time', conflicts, day, (booking) => openBooking(context, booking));
  }
}

const isOver = ({ endDate }: NewClosure | Closure): boolean => Date.parse(endDate) <= Date.now();
