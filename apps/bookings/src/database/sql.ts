// Defines SQL that several subjects need to build their statements.

/** Whether a parameter has one value or several. */
export type Size = 'one' | 'several';

/** The right side of a condition. For a single value, PostgreSQL can return rows in the order of an index. */
export const oneOf = (size: Size, type: 'text' | 'uuid' = 'text'): string =>
  size === 'one' ? `= ?::${type}` : `= any(?::${type}[])`;

/** The time from `start` to `end`. If they are equal, it is this instant. */
export const timeRange = (start: string, end: string): string =>
  `tstzrange(${start}, ${end}, case when ${start} = ${end} then '[]' else '[)' end)`;
