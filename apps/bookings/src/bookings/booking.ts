// A booking as the service thinks of it, between the row of the store and the resource on the wire; its times are those of the wire, in
// UTC with milliseconds, so that their order is that of the texts.

export interface Booking {
  readonly id: string;
  readonly facilityId: string;
  readonly externalBookingId: string | undefined;
  readonly correlationId: string | undefined;
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly version: number;
}

/** What an update sets. */
export interface BookingChange {
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: string;
  readonly endDate: string;
}

/** The opaque part of the booking's entity tag; the store compares it with If-Match under its lock. */
export function tagOf({ version, lastUpdatedAt }: Booking): string {
  return `${version}-${Date.parse(lastUpdatedAt)}`;
}
