// Defines the JSON Schemas of opening hours.
import { namedSchema } from '@bay-booking/common/endpoint';
import { timeOfDayPattern } from '@bay-booking/common/validation';
import { editLinksSchema } from '../http/endpoint-parts.ts';
import { weekdays } from './hours.ts';

const time = { type: 'string', pattern: timeOfDayPattern } as const;

const rangeSchema = {
  title: 'HoursRange',
  type: 'object',
  required: ['opens', 'closes'],
  properties: {
    opens: { ...time, description: "HH:MM in the time zone of the location's facility." },
    closes: { ...time, description: 'HH:MM. A time at or before opens is on the next day.' },
  },
} as const;

const hoursSchema = {
  type: 'array',
  maxItems: 6,
  items: rangeSchema,
  description: 'Hours that touch or overlap count as one interval.',
} as const;

type Days = { readonly [day in (typeof weekdays)[number]]: typeof hoursSchema };

const weeklySchema = {
  title: 'WeeklyHours',
  type: 'object',
  // Other unknown fields of a request are ignored, but a misspelled weekday would close the location on that weekday.
  additionalProperties: false,
  // The cast restores the names of the weekdays, which `Object.fromEntries` drops from the type.
  properties: Object.fromEntries(weekdays.map((day) => [day, hoursSchema])) as unknown as Days,
  description: 'The hours that begin on each weekday. A weekday that is left out is closed.',
} as const;

const exceptionSchema = {
  title: 'HoursException',
  type: 'object',
  required: ['date', 'hours'],
  properties: {
    date: { type: 'string', format: 'date', description: 'A date in the time zone of the facility.' },
    hours: hoursSchema,
  },
} as const;

const exceptionsSchema = {
  type: 'array',
  maxItems: 400,
  items: exceptionSchema,
  description: 'Each replaces the hours that begin on its date. A date may occur once.',
} as const;

/** The opening hours of a location in an import file, where unknown fields are errors. */
export const importedHoursSchema = {
  type: 'object',
  required: ['weekly'],
  additionalProperties: false,
  properties: { weekly: weeklySchema, exceptions: exceptionsSchema },
} as const;

export const setOpeningHoursSchema = {
  title: 'SetOpeningHours',
  type: 'object',
  required: ['weekly'],
  properties: {
    weekly: weeklySchema,
    exceptions: exceptionsSchema,
    alwaysOpen: {
      const: false,
      description: 'Accepted so that the response of GET can be sent back. DELETE makes a location always open.',
    },
  },
} as const;

export const openingHoursSchema = namedSchema('OpeningHours', {
  locationId: { type: 'string', description: 'Location ID.' },
  timeZone: { type: 'string', description: 'The IANA time zone of the facility.' },
  alwaysOpen: {
    type: 'boolean',
    description: 'Whether the location is open at all times, because it has no opening hours.',
  },
  weekly: weeklySchema,
  exceptions: exceptionsSchema,
  _links: editLinksSchema,
});
