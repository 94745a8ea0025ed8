// Handles GET /api/bookings/{id}/history and GET /api/booking-history.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { PageRequest } from '@bay-booking/common/page';
import type { FromSchema } from 'json-schema-to-ts';
import type { CallerRequest } from '../../auth/caller.ts';
import type { Config } from '../../config.ts';
import { isUuid } from '../../database/tagged-id.ts';
import { apiError } from '../../errors.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../../http/pagination.ts';
import { findReversedIntervalErrors, parseDates } from '../../time/date-times.ts';
import type { FeedStore } from '../feed/store.ts';
import type { BookingState } from '../log.ts';
import { selectFacility } from '../select-facility.ts';
import type { historyQuerySchema } from './schema.ts';
import type { HistoryEntry, HistoryStore } from './store.ts';

export interface HistoryServices {
  readonly config: Pick<Config, 'baseUrl' | 'historyRetentionDays'>;
  readonly now: () => Date;
  readonly link: MakeLink;
  readonly history: HistoryStore;
  readonly feed: Pick<FeedStore, 'numberChanges'>;
  /** Returns a booking as an item of a list. */
  readonly bookingItem: (state: BookingState) => object;
}

const day = 24 * 3_600_000;
/** These fields say nothing that the entry does not say. */
const ignoredFields: ReadonlySet<string> = new Set(['id', 'createdAt', 'lastUpdatedAt', '_links']);

const oldestEntry = ({ config, now }: HistoryServices): Date =>
  new Date(now().getTime() - config.historyRetentionDays * day);

/** @throws {ApiError} 404 if no facility of the token has a history of the booking */
export async function listBookingHistory(
  services: HistoryServices,
  { params: { id = '' }, query, caller: { facilities } }: CallerRequest<Partial<PageRequest>>,
): Promise<EndpointResponse> {
  const { history, bookingItem, link } = services;
  const page = pageRequest(query, defaultPageSizes.history);
  const found = isUuid(id) ? await history.ofBooking(facilities, id, oldestEntry(services), page) : undefined;
  if (!found || found.total === 0) throw apiError('ERR00404');
  const items = found.rows.map((entry) => entryJson(entry, bookingItem));
  return listResponse({ path: `/api/bookings/${id}/history`, query, page }, items, found.total, link);
}

export async function listHistory(
  services: HistoryServices,
  { query, validationErrors, caller }: CallerRequest<FromSchema<typeof historyQuerySchema>>,
): Promise<EndpointResponse> {
  const { history, feed, bookingItem, link, config } = services;
  const { bayIds, subject, clientId, action } = query;
  const dates = parseDates(query);
  const errors = [...validationErrors, ...findReversedIntervalErrors(dates)];
  const facilityId = selectFacility(query, errors, caller, config.baseUrl);
  const page = pageRequest(query, defaultPageSizes.history);
  await feed.numberChanges([facilityId]);
  const { start, end } = dates;
  const filter = { facilityId, bayIds, start, end, subject, clientId, action };
  const { rows, total } = await history.ofFacility(filter, oldestEntry(services), page);
  const items = rows.map((entry) => {
    const { bookingId } = entry;
    return { bookingId, facilityId, ...entryJson(entry, bookingItem) };
  });
  return listResponse({ path: '/api/booking-history', query, page }, items, total, link);
}

function entryJson(
  { version, action, at, actor, requestId, before, after }: HistoryEntry,
  bookingItem: HistoryServices['bookingItem'],
) {
  // An erasure has also changed the earlier entries, so it shows no change.
  const changes = action === 'erased' ? {} : changesBetween(before && bookingItem(before), after && bookingItem(after));
  return { version, action, at, actor, requestId, changes };
}

type Fields = Readonly<Record<string, unknown>>;

function changesBetween(before: object | null, after: object | null) {
  const [from, to] = [before ?? {}, after ?? {}] as [Fields, Fields];
  const names = Object.keys({ ...from, ...to }).filter(
    (name) => !ignoredFields.has(name) && JSON.stringify(from[name]) !== JSON.stringify(to[name]),
  );
  return Object.fromEntries(names.map((name) => [name, { from: from[name] ?? null, to: to[name] ?? null }]));
}
