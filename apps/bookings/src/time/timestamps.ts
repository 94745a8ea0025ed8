// Reads timestamps of database rows as ISO 8601 strings in UTC and compares them.
//
// Rearranging PostgreSQL's output takes a fifth of the time that a Date takes. A page can have 4000 timestamps.
import { types } from 'pg';

const timestamptz = 1184;
const utcTimestamp = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,3})?\+00$/;
const parseTimestamp = types.getTypeParser(timestamptz) as (text: string) => Date;

/** If the session's time zone is not UTC, timestamps have other offsets and need a Date. */
export function toIso(text: string): string {
  if (!utcTimestamp.test(text)) return parseTimestamp(text).toISOString();
  // A timestamp without a fraction has 22 characters.
  const fraction = text.length === 22 ? '.000' : text.slice(19, -3).padEnd(4, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z`;
}

export const isoTimestamps = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === timestamptz ? toIso : types.getTypeParser(oid, format),
};

/** `lastUpdatedAt` must never decrease, even if the clocks of two instances differ. */
export function later(lastUpdatedAt: string, at: Date): string {
  const now = at.toISOString();
  return now > lastUpdatedAt ? now : lastUpdatedAt;
}
