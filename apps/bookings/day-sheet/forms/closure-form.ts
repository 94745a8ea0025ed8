// The form that closes bays for a time, changes a closure, and opens the bays again.
import type { Closure } from '@bay-booking/client';
import { client } from '../api.ts';
import { createOnce } from '../day/bookings.ts';
import { bayNameOf, findBookings, type SheetBooking } from '../day/day.ts';
import { describeError, timesOf } from '../day/sentences.ts';
import { localAt } from '../day/time.ts';
import { button, h, notify } from '../dom.ts';
import type { Draft } from '../sign-in.ts';
import { type FormContext, openBooking, readTime } from './booking-form.ts';
import { openForm } from './form.ts';

export interface ClosureContext extends FormContext {
  readonly mayClose: boolean;
}

export type NewClosure = Pick<Closure, 'startDate' | 'endDate'> & { readonly bayIds: string[] };

export function openClosure(context: ClosureContext, seen: Closure | NewClosure, draft?: Draft['values']): void {
  const { day, mayClose } = context;
  const existing = 'id' in seen ? seen : undefined;
  const allBays = day.bays.map(({ id }) => id);
  /** A closure can have bays of several locations. The form shows those of this location. */
  const otherBays = seen.bayIds?.filter((id) => !allBays.includes(id)) ?? [];
  const wanted = { ...seen, bayId: seen.bayIds?.[0] ?? allBays[0] ?? '' };
  const times = { type: 'datetime-local', attributes: { readonly: !mayClose } } as const;
  const bookingsIn = (closure: Closure): Promise<SheetBooking[]> =>
    findBookings(client, closure.bayIds ?? allBays, { startDate: closure.startDate, endDate: closure.endDate });
  const form = openForm(
    {
      title: existing ? 'Closure' : 'Close bays',
      draft: { kind: 'closure', context: seen },
      fields: [
        {
          name: 'reason',
          label: 'Reason',
          value: existing?.reason ?? '',
          attributes: { maxlength: 256, readonly: !mayClose },
        },
        {
          name: 'whole',
          label: 'The whole location',
          type: 'checkbox',
          value: existing !== undefined && !existing.bayIds,
        },
        {
          name: 'bayIds',
          label: 'Bays',
          type: 'checkboxes',
          options: day.bays.map(({ id, name }) => [id, name]),
          value: seen.bayIds ?? [],
        },
        { name: 'startDate', label: 'From', value: localAt(Date.parse(seen.startDate), day.timeZone), ...times },
        { name: 'endDate', label: 'To', value: localAt(Date.parse(seen.endDate), day.timeZone), ...times },
      ],
      submitLabel: mayClose ? (existing ? 'Save' : 'Close the bays') : undefined,
      buttons: [
        existing && mayClose && button('Open again', () => void form.run(() => remove(existing)), { class: 'danger' }),
      ],
      describe: (error) => describeError(error, day, [wanted]),
      save: async (values) => {
        const reason = String(values.get('reason') ?? '').trim();
        const body = {
          ...(values.has('whole')
            ? { locationId: day.location.id }
            : { bayIds: [...values.getAll('bayIds').map(String), ...otherBays] }),
          startDate: readTime(values, 'startDate', day, seen.startDate),
          endDate: readTime(values, 'endDate', day, seen.endDate),
          ...(reason && { reason }),
        };
        const saved = existing
          ? await client.closures.update(existing.id, body, { ifMatch: await etagOf(existing) })
          : await createOnce(body, (idempotencyKey) => client.closures.create(body, { idempotencyKey }));
        // The closure is saved. A failure of the search must not look like a failure to save.
        const conflicts = await bookingsIn(saved).catch(() => []);
        notify(existing ? 'The closure was saved.' : 'The bays are closed.');
        if (conflicts.length === 0) return true;
        // The bookings stay, so somebody must call these people.
        openClosure(context, saved);
        return false;
      },
    },
    draft,
  );
  if (existing)
    void bookingsIn(existing).then(
      (conflicts) => form.showBelow(listConflicts(conflicts)),
      () => undefined,
    );

  async function etagOf({ id, lastUpdatedAt }: Closure): Promise<string> {
    const current = await client.closures.get(id);
    // An old entity tag: the service responds with 412.
    return current.lastUpdatedAt === lastUpdatedAt ? current.etag : '"changed"';
  }

  async function remove(closure: Closure): Promise<void> {
    await client.closures.delete(closure.id, { ifMatch: await etagOf(closure) });
    notify('The bays are open again.');
  }

  function listConflicts(conflicts: readonly SheetBooking[]): HTMLElement {
    const open = (booking: SheetBooking) =>
      button(
        `${booking.userAlias}, ${bayNameOf(day, booking.bayId)}, ${timesOf(booking, day)}`,
        () => openBooking(context, booking),
        {
          class: 'link',
        },
      );
    const summary =
      conflicts.length === 0
        ? 'No bookings during this closure.'
        : `Bookings in the closed time (${conflicts.length}). They stay until you move or cancel them:`;
    return h('div', {}, h('p', {}, summary), h('ul', {}, ...conflicts.map((booking) => h('li', {}, open(booking)))));
  }
}
