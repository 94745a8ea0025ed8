// Handles GET /api/booking-changes: returns a page of the change feed (OpenActive Realtime Paged Data Exchange 1.0). If
// the page is empty and the client has sent `Prefer: wait`, the handler first waits for a change.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import { waitSecondsOf } from '@bay-booking/service/http/api/preferences';
import type { FromSchema } from 'json-schema-to-ts';
import { revokedError } from '../../auth/access-token.ts';
import type { CallerRequest } from '../../auth/caller.ts';
import type { Revocations } from '../../auth/revocations.ts';
import type { Config } from '../../config.ts';
import { apiError } from '../../errors.ts';
import type { BookingState } from '../log.ts';
import { selectFacility } from '../select-facility.ts';
import type { ChangeWatcher } from './change-watcher.ts';
import { defaultFeedLimit, type feedQuerySchema } from './schema.ts';
import type { FeedChange, FeedStore } from './store.ts';

export interface FeedServices {
  readonly config: Pick<Config, 'baseUrl'>;
  readonly link: MakeLink;
  readonly feed: FeedStore;
  readonly changeWatcher: ChangeWatcher;
  readonly revocations: Pick<Revocations, 'isRevoked'>;
  /** Returns a booking as an item of a list. */
  readonly bookingItem: (state: BookingState) => object;
}

type FeedRequest = CallerRequest<FromSchema<typeof feedQuerySchema>>;

/** The query without `latest`, with its defaults. `removed` is described in schema.ts. */
interface FeedPosition {
  readonly facilityId: string;
  readonly afterChangeNumber: number;
  readonly removed: number | undefined;
  readonly limit: number;
}

const path = '/api/booking-changes';
/** Must be shorter than the time after which the server closes an inactive connection (40 s). */
const maxWaitSeconds = 25;

export function createChangeLister({ feed, changeWatcher, revocations, bookingItem, link, config }: FeedServices) {
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
