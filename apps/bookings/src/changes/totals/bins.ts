// Defines the bins: how many bookings of a facility or a location start in a period (table booking_count).
//
// Counting a million index entries takes 100 ms, so the totals of long lists are sums of bins and of the changes that
// compaction has not yet added to the bins (see ../compaction.ts). This sum is exact in every snapshot of the database.

// The lengths of bins (`span`) in hours, from long to short. 768 hours are 32 days. Bins begin at multiples of their
// length since 1970 in UTC.
const longestSpan = 768;
export const facilitySpans = [longestSpan, 24, 1] as const;
export const locationSpans = [longestSpan, 24] as const;

/** The SQL expression for the beginning of the bin that is `span` hours long and contains the time in `column`. */
export const binOf = (column: string, span: number | string): string =>
  `date_bin(make_interval(hours => ${span}), ${column}, timestamptz '1970-01-01 00:00Z')`;

/** Each booking is counted in one bin of each kind. The bins of a facility have an empty `location_id`. */
const binKinds = `(values ${[
  ...facilitySpans.map((span) => `(false, ${span})`),
  ...locationSpans.map((span) => `(true, ${span})`),
].join(', ')}) bin_kind (is_of_location, span)`;

/** Selects one row for each start that a change adds (`n` = 1) or removes (-1). An erasure changes no start. */
export const startsOf = (changes: string): string => `select facility_id, moved.location_id, start_date, n
  from ${changes} change cross join lateral (values
    (after ->> 'locationId', (after ->> 'startDate')::timestamptz, 1),
    (before ->> 'locationId', (before ->> 'startDate')::timestamptz, -1)
  ) moved (location_id, start_date, n)
  where moved.location_id is not null and action <> 'erased'`;

/** The starts in the changes that are not in the bins. `inFacilities` is the right side of a condition, as `= $1`. */
export const uncountedStarts = (inFacilities: string): string =>
  startsOf(
    `(select facility_id, action, before, after from booking_change where facility_id ${inFacilities} and number is null)`,
  );

/** Selects the bins of the rows of `starts`: columns `location_id`, `start_date` and `n`. */
export const binsOfStarts = `select case when is_of_location then location_id else '' end as location_id, span,
    ${binOf('start_date', 'span')} as begins, n
  from starts cross join ${binKinds}`;

/** Adds the rows of `bins` (columns `location_id`, `span`, `begins` and `n`) to the bins of facility $1. */
export const addBins = `insert into booking_count (facility_id, location_id, span, begins, n)
select $1, location_id, span, begins, sum(n) from bins
group by location_id, span, begins having sum(n) <> 0 order by location_id, span, begins
on conflict (facility_id, location_id, span, begins) do update set n = booking_count.n + excluded.n`;

/**
 * Corrects the bins of facility $1 and returns a row for each bin that was wrong. A bin is right if it counts all
 * bookings of its period, without the changes that are not in the bins. The statement reads everything in one snapshot,
 * so it needs no lock against requests that write bookings.
 */
export const correctBins = `with starts as (
  select location_id, start_date, 1 as n from booking where facility_id = $1
  union all
  select location_id, start_date, -n from (${uncountedStarts('= $1')}) uncounted
), bins as (
  ${binsOfStarts}
  union all
  select location_id, span, begins, -n from booking_count where facility_id = $1
)
${addBins}
returning span`;
