// A booking as the service thinks of it, between the row of the store and the resource on the wire.

export interface Booking {
  readonly id: string;
  readonly facilityId: string;
  readonly externalBookingId: string | undefined;
  readonly correlationId: string | undefined;
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: Date;
  readonly endDate: Date;
  readonly createdAt: Date;
  readonly lastUpdatedAt: Date;
  readonly version: number;
}

/** What an update sets. */
export interface BookingChange {
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: Date;
  readonly endDate: Date;
}

/** The opaque part of the booking's entity tag; the store compares it with If-Match under its lock. */
export function tagOf({ version, lastUpdatedAt }: Booking): string {
  return `${version}-${lastUpdatedAt.getTime()}`;
}
