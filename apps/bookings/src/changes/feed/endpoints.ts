// Describes and handles GET /api/booking-changes: returns a page of the change feed (OpenActive Realtime Paged Data
// Exchange 1.0). If the page is empty and the client has sent `Prefer: wait`, the handler first waits for a change.
import { type EndpointResponse, namedSchema, type Schema } from '@bay-booking/common/endpoint';
import { linksSchema } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import { textSchema } from '@bay-booking/common/text';
import { waitSecondsOf } from '@bay-booking/service/http/api/preferences';
import type { FromSchema } from 'json-schema-to-ts';
import { revokedError } from '../../auth/access-token.ts';
import type { CallerRequest } from '../../auth/caller.ts';
import type { Revocations } from '../../auth/revocations.ts';
import { apiError } from '../../errors.ts';
import { actorExample, actorSchema, defineEndpoint, type EndpointServices, string } from '../../http/endpoint-parts.ts';
import type { BookingState } from '../log.ts';
import { selectFacility } from '../select-facility.ts';
import type { ChangeWatcher } from './change-watcher.ts';
import type { FeedChange, FeedStore } from './store.ts';

const maxFeedLimit = 1000;
const defaultFeedLimit = 500;

const nonNegativeInteger = { type: 'integer', minimum: 0 } as const;

const feedQuerySchema = {
  type: 'object',
  properties: {
    facilityId: { ...textSchema, description: 'Mandatory if the token names several facilities.' },
    afterChangeNumber: { ...nonNegativeInteger, description: 'Returns the changes after this number; 0 if left out.' },
    // For a client that has just read the bookings with a search.
    latest: {
      type: 'boolean',
      description: 'If true, the page is empty, and its link "next" returns only later changes.',
    },
    // A parameter of the link `next`. Old deletions are removed from the feed. For a client that reads the whole feed,
    // the value is the highest change number that had been removed when the client read its first page. For other
    // clients, the value is 0.
    removed: {
      ...nonNegativeInteger,
      description:
        'Copy it from the link "next". If changes that you have not read were removed, the response is ERR00410.',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: maxFeedLimit,
      description: `Maximum number of items; ${defaultFeedLimit} if left out.`,
    },
  },
} as const;

const changeFields = {
  kind: { const: 'Booking' },
  id: { type: 'string', format: 'uuid', description: 'Booking ID.' },
  modified: { ...nonNegativeInteger, description: 'The change number, unique within the facility.' },
  actor: actorSchema,
} as const;

const deletedSchema = namedSchema('BookingChangeDeleted', { state: { const: 'deleted' }, ...changeFields });

/** `bookingItem` is the schema of a booking in a list. */
function feedSchema(bookingItem: Schema) {
  const updated = { state: { const: 'updated' }, ...changeFields, data: bookingItem };
  const change = { title: 'BookingChange', oneOf: [namedSchema('BookingChangeUpdated', updated), deletedSchema] };
  return namedSchema('BookingChangeList', {
    items: { type: 'array', items: change },
    next: { type: 'string', format: 'uri', description: 'The address of the next page.' },
    _links: linksSchema('self', 'next'),
  });
}

interface FeedServices extends EndpointServices {
  readonly bookingItemSchema: Schema;
  readonly bookingExample: { readonly id: string };
  readonly feed: FeedStore;
  readonly changeWatcher: ChangeWatcher;
  readonly revocations: Pick<Revocations, 'isRevoked'>;
  /** Returns a booking as an item of a list. */
  readonly bookingItem: (state: BookingState) => object;
}

export const createFeedEndpoint = (services: FeedServices) =>
  defineEndpoint({
    operationId: 'listBookingChanges',
    method: 'GET',
    access: 'read',
    path: '/api/booking-changes',
    tag: 'Bookings',
    summary: 'Read the changes of bookings',
    description:
      'Every booking of a facility at its latest change, in the order of the changes. Follow next until a page has ' +
      'no items, and repeat that request later. A deleted booking stays in the feed for the retention period. ' +
      'After a 410 response, start from the beginning.',
    query: feedQuerySchema,
    queryExamples: { facilityId: 'fac-north' },
    headers: {
      Prefer: {
        description: 'wait=N delays an empty page until the facility changes, for N seconds and 25 at most (RFC 7240).',
        schema: string,
      },
    },
    success: {
      status: 200,
      description: 'A page of changes.',
      schema: feedSchema(services.bookingItemSchema),
      example: changeListExample(services),
      headers: { 'Preference-Applied': { description: 'The wait in force, such as wait=25.', schema: string } },
    },
    // The handler reports the validation errors itself. The same response can then also report a facilityId that is
    // missing or that the token does not name.
    handlesValidationErrors: true,
    handle: createChangeLister(services),
  });

function changeListExample({ bookingExample, config: { baseUrl } }: FeedServices) {
  const addressAfter = (number: number) =>
    `${baseUrl}/api/booking-changes?facilityId=fac-north&afterChangeNumber=${number}&removed=0&limit=500`;
  const deletedId = '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1e';
  return {
    items: [
      {
        state: 'updated',
        kind: 'Booking',
        id: bookingExample.id,
        modified: 4711,
        actor: actorExample,
        data: bookingExample,
      },
      { state: 'deleted', kind: 'Booking', id: deletedId, modified: 4712, actor: actorExample },
    ],
    next: addressAfter(4712),
    _links: {
      self: { method: 'GET', href: addressAfter(4710) },
      next: { method: 'GET', href: addressAfter(4712) },
    },
  };
}

type FeedRequest = CallerRequest<FromSchema<typeof feedQuerySchema>>;

/** The query without `latest`, with its defaults. */
interface FeedPosition {
  readonly facilityId: string;
  readonly afterChangeNumber: number;
  readonly removed: number | undefined;
  readonly limit: number;
}

const path = '/api/booking-changes';
/** Must be shorter than the time after which the server closes an inactive connection (40 s). */
const maxWaitSeconds = 25;

function createChangeLister({ feed, changeWatcher, revocations, bookingItem, link, config }: FeedServices) {
  const { baseUrl } = config;

  return async ({ query, validationErrors, caller, header }: FeedRequest): Promise<EndpointResponse> => {
    const facilityId = selectFacility(query, validationErrors, caller, baseUrl);
    const { afterChangeNumber = 0, removed, limit = defaultFeedLimit } = query;
    const position = { facilityId, afterChangeNumber, removed, limit };
    if (query.latest) {
      const latest = (await feed.numberChanges([facilityId])).get(facilityId) ?? 0;
      return { status: 200, body: envelopeOf({ ...position, afterChangeNumber: latest }, { changes: [], removed: 0 }) };
    }
    const preferredSeconds = waitSecondsOf(header('prefer'));
    const waitSeconds = Math.min(preferredSeconds ?? 0, maxWaitSeconds);
    let page = await readPage(position);
    // False if too many requests already wait, or if the service is already stopping. The response then says `wait=0`.
    let mayWait = true;
    if (page.changes.length === 0 && waitSeconds > 0) {
      const waiting = { facilityId, changeNumber: page.changeNumber, caller };
      mayWait = await changeWatcher.waitForChange(waiting, waitSeconds * 1000);
      if (revocations.isRevoked(caller)) throw revokedError(baseUrl, caller);
      if (mayWait) page = await readPage(position);
    }
    const appliedSeconds = mayWait ? waitSeconds : 0;
    const headers = preferredSeconds === undefined ? {} : { 'Preference-Applied': `wait=${appliedSeconds}` };
    return { status: 200, body: envelopeOf(position, page), headers };
  };

  async function readPage({ facilityId, afterChangeNumber, removed, limit }: FeedPosition) {
    const read = () => feed.changesAfter(facilityId, afterChangeNumber, limit);
    // A full page needs no later changes.
    const isFull = async (): Promise<boolean> => (await read()).changes.length === limit;
    const changeNumber = (await feed.numberChanges([facilityId], isFull)).get(facilityId) ?? 0;
    const { changes, removedNumber } = await read();
    // Old deletions up to `removedNumber` were removed from the feed. A client that starts from the beginning has seen
    // none of the deleted bookings, so it misses nothing. Any other client that continues after a lower number
    // may miss deletions, and must start again (410).
    const startsFromBeginning = afterChangeNumber === 0 && removed === undefined;
    const knownRemoved = removed ?? (startsFromBeginning ? removedNumber : 0);
    if (removedNumber > Math.max(knownRemoved, afterChangeNumber)) throw apiError('ERR00410');
    return { changes, changeNumber, removed: knownRemoved };
  }

  function envelopeOf(
    { facilityId, afterChangeNumber, limit }: FeedPosition,
    { changes, removed }: { readonly changes: readonly FeedChange[]; readonly removed: number },
  ) {
    const linkAfter = (number: number) =>
      link('GET', `${path}${writeQueryString({ facilityId, afterChangeNumber: number, removed, limit })}`);
    const next = linkAfter(changes.at(-1)?.number ?? afterChangeNumber);
    const items = changes.map(itemOf);
    return { items, next: next.href, _links: { self: linkAfter(afterChangeNumber), next } };
  }

  function itemOf({ bookingId, number, isDeleted, state, actor }: FeedChange) {
    const item = { kind: 'Booking', id: bookingId, modified: number, actor };
    return isDeleted || !state
      ? { state: 'deleted', ...item }
      : { state: 'updated', ...item, data: bookingItem(state) };
  }
}
