// Describes and handles the endpoints of the history of one booking and of a facility.
import { findReversedIntervalErrors, parseDates } from '@bay-booking/common/date-times';
import { type EndpointResponse, named, namedSchema } from '@bay-booking/common/endpoint';
import type { PageRequest } from '@bay-booking/common/page';
import { textSchema } from '@bay-booking/common/text';
import type { FromSchema } from 'json-schema-to-ts';
import type { CallerRequest } from '../../auth/caller.ts';
import { isUuid } from '../../database/tagged-id.ts';
import { apiError } from '../../errors.ts';
import {
  actorExample,
  actorSchema,
  dateTimeSchema as dateTime,
  defineEndpoint,
  type EndpointServices,
  idsSchema,
  pageSuccess,
  string,
} from '../../http/endpoint-parts.ts';
import { listExample, listQuerySchema, listResponse, listSchema, pageRequest } from '../../http/pagination.ts';
import type { FeedStore } from '../feed/store.ts';
import type { BookingState } from '../log.ts';
import { changeActions } from '../log.ts';
import { selectFacility } from '../select-facility.ts';
import type { HistoryEntry, HistoryStore } from './store.ts';

const action = { type: 'string', enum: changeActions } as const;

const changedFieldSchema = namedSchema('ChangedField', {
  from: { description: 'The value before the change. Null if there was none.' },
  to: { description: 'The value after the change. Null if there is none.' },
});

const entryFields = {
  version: { type: 'integer', minimum: 1, description: 'The version of the booking after the change.' },
  action: { ...action, description: 'What was done.' },
  at: { ...dateTime, description: 'When it was done, UTC.' },
  actor: actorSchema,
  requestId: { type: ['string', 'null'], description: 'The X-Request-Id of the request.' },
  changes: {
    type: 'object',
    additionalProperties: changedFieldSchema,
    description: 'The fields that the change has set, by their names in a booking.',
  },
} as const;

const bookingHistoryQuerySchema = listQuerySchema({});

const historyQuerySchema = listQuerySchema({
  facilityId: { ...textSchema, description: 'Mandatory if the token names several facilities.' },
  bayIds: idsSchema('Bays where the bookings were before or after the change.'),
  startDate: {
    ...dateTime,
    description:
      'Selects changes of bookings that overlapped the interval before or after the change. ' +
      'One date alone leaves it open at the other end.',
  },
  endDate: { ...dateTime, description: 'See startDate.' },
  subject: { ...textSchema, description: 'The subject of the actor.' },
  clientId: { ...textSchema, description: 'The client of the actor.' },
  action: { ...action, description: 'What was done.' },
});

const bookingEntrySchema = namedSchema('BookingHistoryEntry', entryFields);
const facilityEntrySchema = namedSchema('HistoryEntry', {
  bookingId: { type: 'string', format: 'uuid', description: 'Booking ID.' },
  facilityId: { type: 'string', description: 'The facility of the booking.' },
  ...entryFields,
});

const bookingHistorySchema = named('BookingHistory', listSchema(bookingEntrySchema));
const historySchema = named('History', listSchema(facilityEntrySchema));

const tag = 'Bookings';

interface HistoryServices extends EndpointServices {
  readonly bookingExample: { readonly id: string };
  readonly history: HistoryStore;
  readonly feed: Pick<FeedStore, 'numberChanges'>;
  /** Returns a booking as an item of a list. */
  readonly bookingItem: (state: BookingState) => object;
}

export function createHistoryEndpoints(services: HistoryServices) {
  const { link, bookingExample } = services;
  const { id } = bookingExample;
  const entry = {
    version: 2,
    action: 'updated',
    at: '2026-05-01T07:12:44.018Z',
    actor: actorExample,
    requestId: '0b0f9f0e-5d5c-4a39-8c65-0f3b1f6a7c11',
    changes: { bayId: { from: 'bay-n1-01', to: 'bay-n1-02' } },
  };
  const example = (path: string, query: object, item: object) => listExample(path, { ...query }, item, link);
  const facilityQuery = { facilityId: 'fac-north', bayIds: ['bay-n1-01'] };

  return [
    defineEndpoint({
      operationId: 'getBookingHistory',
      method: 'GET',
      access: 'read',
      path: '/api/bookings/{id}/history',
      tag,
      summary: 'History of one booking',
      description:
        "Every change of the booking at the token's facilities, oldest first, also after its deletion. A booking that " +
        'moved to another facility is deleted in the old one and created in the new one.',
      params: { id: { description: 'Booking ID.', schema: string, example: id } },
      query: bookingHistoryQuerySchema,
      success: pageSuccess('changes', bookingHistorySchema, example(`/api/bookings/${id}/history`, {}, entry)),
      handle: (request) => listBookingHistory(services, request),
    }),
    defineEndpoint({
      operationId: 'listHistory',
      method: 'GET',
      access: 'read',
      path: '/api/booking-history',
      tag,
      summary: 'History of a facility',
      description:
        'The changes of all bookings of a facility that match every filter, newest first, with deleted and moved bookings.',
      query: historyQuerySchema,
      queryExamples: facilityQuery,
      success: pageSuccess(
        'changes',
        historySchema,
        example('/api/booking-history', facilityQuery, { bookingId: id, facilityId: 'fac-north', ...entry }),
      ),
      // The handler reports a facilityId that is missing or that the token does not name together with other errors.
      handlesValidationErrors: true,
      handle: (request) => listHistory(services, request),
    }),
  ];
}

const day = 24 * 3_600_000;
/** These fields say nothing that the entry does not say. */
const ignoredFields: ReadonlySet<string> = new Set(['id', 'createdAt', 'lastUpdatedAt', '_links']);

const oldestEntry = ({ config, now }: HistoryServices): Date =>
  new Date(now().getTime() - config.historyRetentionDays * day);

/** @throws {ApiError} 404 if no facility of the token has a history of the booking */
async function listBookingHistory(
  services: HistoryServices,
  { params: { id = '' }, query, sentQuery, caller: { facilities } }: CallerRequest<Partial<PageRequest>>,
): Promise<EndpointResponse> {
  const { history, bookingItem, link } = services;
  const page = pageRequest(query);
  const found = isUuid(id) ? await history.ofBooking(facilities, id, oldestEntry(services), page) : undefined;
  if (!found || found.total === 0) throw apiError('ERR00404');
  const items = found.rows.map((entry) => entryJson(entry, bookingItem));
  return listResponse({ path: `/api/bookings/${id}/history`, sentQuery, page }, items, found.total, link);
}

async function listHistory(
  services: HistoryServices,
  { query, sentQuery, validationErrors, caller }: CallerRequest<FromSchema<typeof historyQuerySchema>>,
): Promise<EndpointResponse> {
  const { history, feed, bookingItem, link, config } = services;
  const { bayIds, subject, clientId, action } = query;
  const dates = parseDates(query);
  const errors = [...validationErrors, ...findReversedIntervalErrors(dates)];
  const facilityId = selectFacility(query, errors, caller, config.baseUrl);
  const page = pageRequest(query);
  await feed.numberChanges([facilityId]);
  const { start, end } = dates;
  const filter = { facilityId, bayIds, start, end, subject, clientId, action };
  const { rows, total } = await history.ofFacility(filter, oldestEntry(services), page);
  const items = rows.map((entry) => {
    const { bookingId } = entry;
    return { bookingId, facilityId, ...entryJson(entry, bookingItem) };
  });
  return listResponse({ path: '/api/booking-history', sentQuery, page }, items, total, link);
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
