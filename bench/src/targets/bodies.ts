// Builds the response bodies of the Bookings API for the targets, with the same fields as those of the service.

export interface BookingRow {
  readonly id: string;
  readonly external_booking_id: string | null;
  readonly correlation_id: string | null;
  readonly bay_id: string;
  readonly user_alias: string;
  readonly start_date: Date;
  readonly end_date: Date;
  readonly created_at: Date;
  readonly last_updated_at: Date;
}

export const bookingColumns =
  'id external_booking_id correlation_id bay_id user_alias start_date end_date created_at last_updated_at'.split(' ');

/** A booking in a list has no links to edit and delete it. */
export function bookingBody(row: BookingRow, baseUrl: string, isInList = false): object {
  const href = `${baseUrl}/api/bookings/${row.id}`;
  return {
    id: row.id,
    ...(row.external_booking_id !== null && { externalBookingId: row.external_booking_id }),
    ...(row.correlation_id !== null && { correlationId: row.correlation_id }),
    bayId: row.bay_id,
    userAlias: row.user_alias,
    startDate: row.start_date.toISOString(),
    endDate: row.end_date.toISOString(),
    createdAt: row.created_at.toISOString(),
    lastUpdatedAt: row.last_updated_at.toISOString(),
    _links: {
      self: { method: 'GET', href },
      ...(!isInList && { edit: { method: 'PUT', href }, delete: { method: 'DELETE', href } }),
    },
  };
}

export interface Page {
  readonly rows: readonly BookingRow[];
  readonly total: number;
  readonly page: number;
  readonly size: number;
}

/** `path` is the path of the request with its query parameters. */
export function listBody({ rows, total, page, size }: Page, baseUrl: string, path: string): object {
  const pageCount = Math.ceil(total / size);
  const linkTo = (target: number) => {
    const address = new URL(path, baseUrl);
    address.searchParams.set('page', String(target));
    address.searchParams.set('pageSize', String(size));
    return { method: 'GET', href: address.href };
  };
  return {
    items: rows.map((row) => bookingBody(row, baseUrl, true)),
    _links: {
      self: linkTo(page),
      first: linkTo(1),
      last: linkTo(Math.max(1, pageCount)),
      ...(page < pageCount && { next: linkTo(page + 1) }),
    },
    page,
    pageSize: size,
    pageCount,
    total,
  };
}
