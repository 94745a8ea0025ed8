// Builds the bodies and headers of responses for the targets, with the same content as those of the service.

export interface BookingRow {
  readonly facility_id: string;
  readonly location_id: string;
  readonly id: string;
  readonly external_booking_id: string | null;
  readonly correlation_id: string | null;
  readonly bay_id: string;
  readonly user_alias: string;
  readonly start_date: Date;
  readonly end_date: Date;
  readonly created_at: Date;
  readonly last_updated_at: Date;
  readonly version: number;
}

export const bookingColumns = (
  'facility_id location_id id external_booking_id correlation_id bay_id user_alias start_date end_date created_at ' +
  'last_updated_at version'
).split(' ');

export interface Sent {
  readonly status: number;
  /** Undefined if the response has none. */
  readonly body: object | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

export const commonHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'DPoP-Nonce, ETag, Idempotency-Replayed, Link, Location, Preference-Applied, RateLimit, RateLimit-Limit, ' +
    'RateLimit-Policy, RateLimit-Remaining, RateLimit-Reset, Retry-After, WWW-Authenticate, X-Request-Id',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};
const readHeaders = { 'Cache-Control': 'private, no-cache' };

/** Returns the fields that clients see. `none` replaces null. */
export const publicFields = (row: BookingRow, none: null | undefined) => ({
  id: row.id,
  externalBookingId: row.external_booking_id ?? none,
  correlationId: row.correlation_id ?? none,
  bayId: row.bay_id,
  userAlias: row.user_alias,
  startDate: row.start_date.toISOString(),
  endDate: row.end_date.toISOString(),
  createdAt: row.created_at.toISOString(),
  lastUpdatedAt: row.last_updated_at.toISOString(),
});

/** A booking in a list has no links to edit and delete it. */
function bookingBody(row: BookingRow, baseUrl: string, isInList = false): object {
  const href = `${baseUrl}/api/bookings/${row.id}`;
  const links = { edit: { method: 'PUT', href }, delete: { method: 'DELETE', href } };
  return {
    ...publicFields(row, undefined),
    _links: { self: { method: 'GET', href }, ...(!isInList && links) },
  };
}

export function bookingResponse(row: BookingRow, baseUrl: string, kind: 'read' | 'created' | 'updated'): Sent {
  const etag = { ETag: `"${row.version}-${row.last_updated_at.getTime()}"` };
  const body = bookingBody(row, baseUrl);
  if (kind === 'read') return { status: 200, body, headers: { ...readHeaders, ...etag } };
  const written = { 'Cache-Control': 'no-store', ...etag };
  if (kind === 'updated') return { status: 200, body, headers: written };
  return { status: 201, body, headers: { ...written, Location: `${baseUrl}/api/bookings/${row.id}` } };
}

export const deletedResponse: Sent = { status: 204, body: undefined, headers: { 'Cache-Control': 'no-store' } };

interface Page {
  readonly items: readonly BookingRow[];
  readonly total: number;
  readonly page: number;
  readonly size: number;
}

/** `path` is the path of the request with its query parameters. */
export function bookingsResponse({ items, total, page, size }: Page, baseUrl: string, path: string): Sent {
  const pageCount = Math.ceil(total / size);
  const linkTo = (target: number) => {
    const url = new URL(path, baseUrl);
    url.searchParams.delete('pageSize');
    url.searchParams.set('page', String(target));
    url.searchParams.set('pageSize', String(size));
    return { method: 'GET', href: url.href };
  };
  const last = Math.max(1, pageCount);
  const _links = {
    self: linkTo(page),
    first: linkTo(1),
    last: linkTo(last),
    ...(page < pageCount && { next: linkTo(page + 1) }),
    ...(page > 1 && pageCount > 0 && { prev: linkTo(Math.min(page - 1, last)) }),
  };
  const Link = Object.entries(_links)
    .map(([relation, { href }]) => `<${href}>; rel="${relation}"`)
    .join(', ');
  return {
    status: 200,
    body: {
      items: items.map((row) => bookingBody(row, baseUrl, true)),
      _links,
      page,
      pageSize: size,
      pageCount,
      total,
    },
    headers: { ...readHeaders, Link },
  };
}
