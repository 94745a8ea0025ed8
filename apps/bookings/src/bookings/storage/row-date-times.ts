// How does a time of a row become a time on the wire? Lists hold hundreds of them: cutting PostgreSQL's text into shape costs a fifth of
// making a Date and writing that. Pure.
import { types } from 'pg';

const timestamptz = 1184;
const inUtc = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,3})?\+00$/;
const parseTimestamp = types.getTypeParser(timestamptz) as (text: string) => Date;

/** `2026-01-31 09:00:00.5+00` → `2026-01-31T09:00:00.500Z`. A session that is not in UTC writes other offsets, which take the long way. */
export function wireTime(text: string): string {
  if (!inUtc.test(text)) return parseTimestamp(text).toISOString();
  const fraction = text.length === 22 ? '.000' : text.slice(19, -3).padEnd(4, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z`;
}

/** For pg: times of rows arrive as they are to be sent. */
export const wireTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === timestamptz ? wireTime : types.getTypeParser(oid, format as 'text'),
};
