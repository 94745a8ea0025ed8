// Defines SQL that several subjects need to build their statements.

/** Whether a parameter has one value or several. */
export type Size = 'one' | 'several';

/** The right side of a condition. For a single value, PostgreSQL can return rows in the order of an index. */
export const equalsOneOf = (size: Size, type: 'text' | 'uuid' = 'text'): string =>
  size === 'one' ? `= ?::${type}` : `= any(?::${type}[])`;

/** The time from `start` to `end`. If they are equal, it is this instant. */
export const timeRange = (start: string, end: string): string =>
  `tstzrange(${start}, ${end}, case when ${start} = ${end} then '[]' else '[)' end)`;

/** The condition for bays that lets PostgreSQL use the index of the constraint booking_no_overlap. */
export const hashOfBay = (size: Size, bays: string): string =>
  size === 'one'
    ? `hashtextextended(bay_id, 0) = hashtextextended(${bays}::text, 0)`
    : `hashtextextended(bay_id, 0) = any(array(select hashtextextended(id, 0) from unnest(${bays}::text[]) id))`;
