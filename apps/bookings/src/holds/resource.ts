// Maps holds to the JSON of responses.
import type { MakeLink } from '@bay-booking/common/links';
import type { Hold } from './hold.ts';

export function holdPath({ id }: Pick<Hold, 'id'>): string {
  return `/api/booking-holds/${id}`;
}

export function holdResource(hold: Hold, link: MakeLink) {
  const { id, bayId, startDate, endDate, expiresAt, createdAt, correlationId } = hold;
  const path = holdPath(hold);
  return {
    id,
    bayId,
    startDate,
    endDate,
    expiresAt,
    createdAt,
    ...(correlationId !== null && { correlationId }),
    _links: {
      self: link('GET', path),
      edit: link('PUT', path),
      delete: link('DELETE', path),
      book: link('POST', '/api/bookings'),
    },
  };
}
