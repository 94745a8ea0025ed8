// Defines the string formats that the schemas of requests and import files use.
import type { Formats } from '@bay-booking/common/validation';
import { dateTimeHint, isDateTime } from './date-times.ts';

/** PostgreSQL has no year 0000. */
const date = /^(?!0000)\d{4}-\d\d-\d\d$/;

export const formats: Formats = {
  'date-time': { test: isDateTime, hint: dateTimeHint },
  date: { test: isDate, hint: 'must be a date such as 2026-01-31' },
  uri: { test: (text) => URL.canParse(text), hint: 'must be an https address' },
};

function isDate(text: string): boolean {
  if (!date.test(text)) return false;
  const parsed = new Date(`${text}T00:00:00.000Z`);
  // Date turns 30 February into a day in March.
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text);
}
