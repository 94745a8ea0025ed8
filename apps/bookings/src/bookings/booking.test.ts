// Compares the fields in storage/columns.ts with the JSON Schemas.
import { expect, test } from '@jest/globals';
import { bookingSchema, createBookingSchema, updateBookingSchema } from './booking.ts';
import { createFields, optionalFields, publicFields, updateFields } from './storage/columns.ts';

test('the column table and the schemas agree on the fields of requests', () => {
  // `holdId` is a field of the requests, but not of the booking.
  expect(Object.keys(createBookingSchema.properties).toSorted()).toEqual([...createFields, 'holdId'].toSorted());
  expect(Object.keys(updateBookingSchema.properties).toSorted()).toEqual([...updateFields, 'holdId'].toSorted());
});

test('the column table and the schemas agree on the fields of responses and their order', () => {
  expect(Object.keys(bookingSchema.properties)).toEqual([...publicFields, '_links']);
  const optional = publicFields.filter((field) => !(bookingSchema.required as readonly string[]).includes(field));
  expect(optional).toEqual(optionalFields);
});
