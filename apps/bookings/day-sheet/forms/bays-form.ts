// The forms for the bays of the location: their list, and one bay with its name, its description and its service.
import type { BookingBay } from '@bay-booking/client';
import { api } from '../api.ts';
import { findBookings } from '../data/read.ts';
import { changesSince, ifUnchanged, type Target } from '../data/write.ts';
import { h, link, listOf, notify } from '../dom.ts';
import type { FormDraft } from '../sign-in.ts';
import { createAffectedList } from './affected-bookings.ts';
import { readText } from './booking-form.ts';
import { type FormContext, formField, openForm } from './form.ts';

export function openBays(context: FormContext): void {
  const { day } = context;
  const items = day.bays.map((bay) => {
    const label = listOf(bay.name, !bay.bookable && 'out of service');
    const open = link(label, () => openBay(context, bay));
    return h('li', open, h('p.hint', bay.description));
  });
  openForm({ title: `Bays of ${day.location.name}`, day, kind: 'bays', content: [h('ul', ...items)] });
}

type EditableBay = Pick<BookingBay, 'name' | 'description' | 'bookable'>;

/** What the form shows, with the words of sentences. */
const shownBay = ({ name, description, bookable }: EditableBay) => ({
  name,
  description,
  service: bookable ? 'in service' : 'out of service',
});

export function openBay(context: FormContext, original: BookingBay, draft?: FormDraft): void {
  const { day, reload } = context;
  const { id, name, description, bookable } = original;
  let isSaved = false;
  const form = openForm(
    {
      title: name,
      day,
      kind: 'bay',
      context: original,
      content: [
        formField('text', 'name', 'Name', name, { required: true }),
        formField('textarea', 'description', 'Description', description),
        formField('checkbox', 'outOfService', 'Out of service', !bookable),
        h('p.hint', 'Nobody can book a bay that is out of service. Its bookings stay.'),
      ],
      submitLabel: 'Save',
      save: async (values) => {
        const typed = String(values.get('description'));
        const body = {
          name: readText(values, 'name', name),
          description: typed === description ? typed : typed.trim(),
          bookable: !values.has('outOfService'),
        };
        const target: Target<BookingBay> = {
          name: 'the bay',
          read: () => api.bays.get(id),
          changesIn: (current) => changesSince(shownBay(original), shownBay(body), shownBay(current), day),
        };
        if (bookable && !body.bookable && (await showAffected('Bookings of this bay', find))) return false;
        await ifUnchanged(target, ({ etag }) => api.bays.update(id, body, { ifMatch: etag }));
        isSaved = true;
        notify('The bay was saved.');
        return true;
      },
      reopen: (current, edited) => openBay(context, current as BookingBay, edited),
    },
    draft,
  );
  const showAffected = createAffectedList(form, day);
  const find = async () => {
    const bookings = await findBookings(api, [id], { startDate: new Date().toISOString() });
    return { bookings, isComplete: true };
  };
  form.element.addEventListener('close', () => isSaved && reload());
}
