// Tests the JSON of bookings with generated values. Also compares the fields in storage/columns.ts with the JSON
// Schemas.
import { isDateTime } from '@bay-booking/common/date-times';
import { linksBelow } from '@bay-booking/common/links';
import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import {
  bookingItem,
  bookingItemSchema,
  bookingResource,
  bookingSchema,
  createBookingSchema,
  updateBookingSchema,
} from './booking.ts';
import {
  type Booking,
  createFields,
  optionalFields,
  type PublicField,
  publicFields,
  updateFields,
} from './storage/columns.ts';

// `true` accepts every string in a field with this format.
const ajv = new Ajv2020({
  formats: { 'date-time': isDateTime, uri: URL.canParse, uuid: true, text: true, note: true },
});
const link = linksBelow('https://bookings.example');
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
/** Texts of printable ASCII characters, which every JSON Schema of a text field allows. */
const plainText = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 40 });
const date = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((value) => value.toISOString());

interface FieldSchema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Generates bookings that follow the JSON Schema. `anyText` generates their texts. */
function bookings(anyText: fc.Arbitrary<string>): fc.Arbitrary<Pick<Booking, PublicField>> {
  const arbitraryOf = (field: PublicField): fc.Arbitrary<unknown> => {
    const schema: FieldSchema = bookingItemSchema.properties[field];
    if (schema.enum) return fc.constantFrom(...schema.enum);
    if (schema.type === 'integer') return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1_000 });
    if (schema.format === 'uuid') return fc.uuid();
    if (schema.type === 'object') return fc.dictionary(fc.stringMatching(/^[A-Za-z0-9_.-]{1,40}$/), anyText);
    return schema.format === 'date-time' ? date : anyText;
  };
  const isOptional = (field: PublicField) => optionalFields.some((optional) => optional === field);
  const values = Object.fromEntries(
    publicFields.map((field) => [field, isOptional(field) ? fc.option(arbitraryOf(field)) : arbitraryOf(field)]),
  );
  return fc.record(values) as fc.Arbitrary<Pick<Booking, PublicField>>;
}

const withoutNulls = (booking: object) =>
  Object.fromEntries(Object.entries(booking).filter(([, value]) => value !== null));

describe('the JSON of a booking', () => {
  test('the JSON of a booking in a list has every field that is not null, and the link self', () => {
    fc.assert(
      fc.property(bookings(text), (booking) => {
        const json = JSON.parse(JSON.stringify(bookingItem(booking, link)));
        const self = { method: 'GET', href: `https://bookings.example/api/bookings/${booking.id}` };
        expect(json).toEqual({ ...withoutNulls(booking), _links: { self } });
      }),
    );
  });

  test('the JSON of a single booking has no internal field, and also the links edit and delete', () => {
    fc.assert(
      fc.property(bookings(text), (booking) => {
        const resource = bookingResource({ ...booking, facilityId: 'fac-north', version: 3 }, link);
        const json = JSON.parse(JSON.stringify(resource));
        const item = JSON.parse(JSON.stringify(bookingItem(booking, link)));
        const { href } = item._links.self;
        const links = { edit: { method: 'PUT', href }, delete: { method: 'DELETE', href } };
        expect(json).toEqual({ ...item, _links: { ...item._links, ...links } });
      }),
    );
  });

  test('the JSON of a booking conforms to its JSON Schema', () => {
    const [validateItem, validateResource] = [ajv.compile(bookingItemSchema), ajv.compile(bookingSchema)];
    fc.assert(
      fc.property(bookings(plainText), (booking) => {
        const full = { ...booking, facilityId: 'fac-north', version: 3 };
        expect(validateItem(JSON.parse(JSON.stringify(bookingItem(booking, link))))).toBe(true);
        expect(validateResource(JSON.parse(JSON.stringify(bookingResource(full, link))))).toBe(true);
      }),
    );
  });
});

describe('the column table and the schemas', () => {
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
});
