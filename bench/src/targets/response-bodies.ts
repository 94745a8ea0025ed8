// Builds the response bodies of the peers, the servers with which the service is compared. The bodies are plain objects
// with the same fields as those of the service, except the link `prev`, which the first page of a list does not have. A
// peer encodes them with JSON.stringify or a JSON Schema.

export interface BookingRow {
  id: string;
  external_booking_id: string | null;
  correlation_id: string | null;
  bay_id: string;
  user_alias: string;
  start_date: Date;
  end_date: Date;
  created_at: Date;
  last_updated_at: Date;
}

export function bookingResource(row: BookingRow, baseUrl: string, hasEditLinks: boolean): object {
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
      ...(hasEditLinks && { edit: { method: 'PUT', href }, delete: { method: 'DELETE', href } }),
    },
  };
}

export function listResource(items: object[], total: number, page: number, pageSize: number, list: URL): object {
  const pageCount = Math.ceil(total / pageSize);
  const linkTo = (target: number) => {
    const address = new URL(list);
    address.searchParams.set('page', String(target));
    address.searchParams.set('pageSize', String(pageSize));
    return { method: 'GET', href: address.href };
  };
  return {
    items,
    _links: {
      self: linkTo(page),
      first: linkTo(1),
      last: linkTo(Math.max(1, pageCount)),
      ...(page < pageCount && { next: linkTo(page + 1) }),
    },
    page,
    pageSize,
    pageCount,
    total,
  };
}

/** Returns the parameters of the statement that inserts a booking, and the row of the new booking. */
export function newBooking(
  id: string,
  facility: string,
  body: Record<string, string>,
): { values: unknown[]; row: BookingRow } {
  const now = new Date();
  const row: BookingRow = {
    id,
    external_booking_id: body.externalBookingId ?? null,
    correlation_id: body.correlationId ?? null,
    bay_id: body.bayId ?? '',
    user_alias: body.userAlias ?? '',
    start_date: new Date(body.startDate ?? ''),
    end_date: new Date(body.endDate ?? ''),
    created_at: now,
    last_updated_at: now,
  };
  const { external_booking_id, correlation_id, bay_id, user_alias, start_date, end_date } = row;
  const times = [start_date, end_date, now, now].map((time) => time.toISOString());
  const version = 1;
  return { values: [facility, bay_id, id, external_booking_id, correlation_id, user_alias, ...times, version], row };
}
