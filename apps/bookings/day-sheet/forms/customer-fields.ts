// The fields of the booking forms for the customer: phone, e-mail, note and attendance.
import { attendances, type Customer, customerLabels, otherFields, withEdits } from '../day/customer.ts';
import { type Child, h } from '../dom.ts';
import { formField } from './form.ts';

const types = { phone: 'tel', email: 'email', note: 'textarea', attendance: 'select' } as const;

/** The fields of other programs are only shown. */
export function customerFields(booking: Customer = {}): Child[] {
  const { attendance = '' } = booking.metadata ?? {};
  const options = new Map([['', 'Not marked'], ...attendances]);
  if (!options.has(attendance)) options.set(attendance, attendance);
  const fieldOf = (key: keyof typeof types) =>
    formField(types[key], key, customerLabels.get(key) ?? key, booking.metadata?.[key] ?? '', {
      // The service names only `metadata` in its error, so the browser limits the value.
      ...(key === 'attendance' ? { options: [...options] } : { maxlength: 500 }),
      ...(key === 'note' && { rows: 2 }),
    });
  return [
    h('div.pair', fieldOf('phone'), fieldOf('email')),
    fieldOf('note'),
    fieldOf('attendance'),
    ...otherFields(booking).map(([key, value]) => h('p', `${key}: `, h('bdi', value))),
  ];
}

/** Returns the whole metadata with what was edited, or undefined if nothing was. Fields change line breaks. */
export function readCustomer(values: FormData, booking: Customer = {}) {
  const comparable = (text: string, key: string) => text.replace(/\r\n?|\n/g, key === 'note' ? '\n' : '');
  const edits = new Map<string, string>();
  for (const key of Object.keys(types)) {
    const [before, text] = [booking.metadata?.[key] ?? '', String(values.get(key) ?? '')];
    if (comparable(text, key) !== comparable(before, key)) edits.set(key, comparable(text, key).trim());
  }
  return edits.size > 0 ? withEdits(booking, edits) : undefined;
}
