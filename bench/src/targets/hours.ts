// Defines SQL of opening hours, which the targets share.

/**
 * Returns the SQL for the times when a location is open between two times, as a multirange. Null if the location is
 * always open. The statement must join `location` and `facility`.
 */
export const openings = (from: string, to: string): string => `case when location.opening_hours is not null then (
  select coalesce(range_agg(tstzrange(
    (day + (hours ->> 'opens')::time) at time zone time_zone,
    (day + (hours ->> 'closes')::time + (hours ->> 'closes' <= hours ->> 'opens')::int * interval '1 day')
      at time zone time_zone
  )), '{}')
  from generate_series((${from}::timestamptz at time zone time_zone)::date - interval '1 day',
      ${to}::timestamptz at time zone time_zone, interval '1 day') day
    cross join jsonb_array_elements(coalesce(
      (select exception -> 'hours' from jsonb_array_elements(location.opening_hours -> 'exceptions') exception
        where exception ->> 'date' = to_char(day, 'YYYY-MM-DD')),
      location.opening_hours -> 'weekly' -> to_char(day, 'FMday'), '[]')) hours
) end`;
