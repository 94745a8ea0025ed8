// Defines opening hours as they are stored and sent: hours for each weekday, and exceptions for single dates.

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Weekday = (typeof weekdays)[number];

/** Times (`HH:MM`) in the zone of the facility. If `closes` is not after `opens`, it is a time on the next day. */
export interface Hours {
  readonly opens: string;
  readonly closes: string;
}

export interface OpeningHours {
  /** On a weekday that is left out, no opening hours begin. */
  readonly weekly: { readonly [day in Weekday]?: readonly Hours[] };
  /** Each exception replaces the weekly hours that begin on its date (`YYYY-MM-DD`). */
  readonly exceptions: readonly { readonly date: string; readonly hours: readonly Hours[] }[];
}

/** Leaves out unknown fields. Sorts the days and fields, because PostgreSQL may have changed their order. */
export function knownFields({ weekly, exceptions }: OpeningHours): OpeningHours {
  const knownHours = (hours: readonly Hours[]) => hours.map(({ opens, closes }) => ({ opens, closes }));
  return {
    weekly: Object.fromEntries(weekdays.flatMap((day) => (weekly[day] ? [[day, knownHours(weekly[day])]] : []))),
    exceptions: exceptions.map(({ date, hours }) => ({ date, hours: knownHours(hours) })),
  };
}
