// The form that closes bays for a time, changes a closure, and opens the bays again.
import type { Closure } from '@bay-booking/client';
import { client } from '../api.ts';
import { changesSince, createOnce, ifUnchanged, removeIfUnchanged, type Target } from '../day/bookings.ts';
import { bayNameOf, findBookings, type SheetBooking } from '../day/day.ts';
import { timesOf } from '../day/sentences.ts';
import { button, h, notify } from '../dom.ts';
import type { Draft } from '../sign-in.ts';
import { baysOf, type FormContext, openBooking, readText, readTime, timeFields } from './booking-form.ts';
import { field, openForm } from './form.ts';

export interface ClosureContext extends FormContext {
  readonly mayClose: boolean;
}

export type NewClosure = Pick<Closure, 'startDate' | 'endDate'> & { readonly bayIds: string[] };

export function openClosure(context: ClosureContext, original: Closure | NewClosure, draft?: Draft): void {
  const { day, mayClose } = context;
  const { bayIds, startDate, endDate } = original;
  const existing = 'id' in original ? original : undefined;
  const allBays = day.bays.map(({ id }) => id);
  /** A closure can have bays of several locations. The form shows those of this location. */
  const otherBays = bayIds?.filter((id) => !allBays.includes(id)) ?? [];
  const targetOf = ({ id }: Closure, requested?: object): Target<Closure> => ({
    name: 'the closure',
    read: () => client.closures.get(id),
    changesIn: (current) => changesSince(original, requested, current, day),
  });
  const bookingsIn = (closure: Closure): Promise<SheetBooking[]> =>
    findBookings(client, closure.bayIds ?? allBays, closure);
  const form = openForm(
    {
      title: existing ? 'Closure' : 'Close bays',
      day,
      kind: 'closure',
      context: original,
      content: [
        field('text', 'reason', 'Reason', existing?.reason ?? '', { maxlength: 256 }),
        field('checkbox', 'whole', 'The whole location', !bayIds),
        field('checkboxes', 'bayIds', 'Bays', bayIds ?? [], { options: baysOf(day) }),
        ...timeFields(day, startDate, endDate),
      ],
      submitLabel: mayClose && (existing ? 'Save' : 'Close the bays'),
      buttons: [existing && mayClose && button('Open again', () => void form.run(remove), { class: 'danger' })],
      save: async (values) => {
        const reason = readText(values, 'reason');
        const isWhole = values.has('whole');
        const body = {
          ...(isWhole
            ? { locationId: day.location.id }
            : { bayIds: [...values.getAll('bayIds').map(String), ...otherBays] }),
          startDate: readTime(values, 'startDate', day, startDate),
          endDate: readTime(values, 'endDate', day, endDate),
          ...(reason && { reason }),
        };
        const saved = existing
          ? await ifUnchanged(targetOf(existing, { bayIds: undefined, reason, ...body }), ({ etag }) =>
              client.closures.update(existing.id, body, { ifMatch: etag }),
            )
          : await createOnce(body, (idempotencyKey) => client.closures.create(body, { idempotencyKey }));
        // The closure is saved. A failure of the search must not look like a failure to save.
        const conflicts = await bookingsIn(saved).catch(() => []);
        notify(existing ? 'The closure was saved.' : 'The bays are closed.');
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
    await removeIfUnchanged(targetOf(existing), (options) => client.closures.delete(existing.id, options));
    notify('The bays are open again.');
  }

  function listConflicts(conflicts: readonly SheetBooking[]): HTMLElement {
    const linkOf = (booking: SheetBooking) => {
      const label = `${booking.userAlias}, ${bayNameOf(day, booking.bayId)}, ${timesOf(booking, day)}`;
      return button(label, () => openBooking(context, booking), { class: 'link' });
    };
    const summary =
      conflicts.length === 0
        ? 'No bookings during this closure.'
        : `Bookings in the closed time (${conflicts.length}). They stay until you move or cancel them:`;
    return h('div', {}, h('p', {}, summary), h('ul', {}, ...conflicts.map((booking) => h('li', {}, linkOf(booking)))));
  }
}
