// Handles GET /api/booking-changes: returns a page of the change feed (OpenActive Realtime Paged Data Exchange 1.0). If
// the page is empty and the client has sent `Prefer: wait`, the handler first waits for a change.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { writeQueryString } from '@bay-booking/common/query-string';
import type { ValidationError } from '@bay-booking/common/validation';
import { revokedError } from '../../auth/access-token.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Revocations } from '../../auth/revocations.ts';
import { apiError } from '../../errors.ts';
import { waitSecondsOf } from '../../http/preferences.ts';
import type { SharedServices } from '../../http/shared-services.ts';
import type { BookingState } from '../log.ts';
import { selectFacility } from '../select-facility.ts';
import type { ChangeWatcher } from './change-watcher.ts';
import { defaultFeedLimit } from './schema.ts';
import type { Change, FeedStore } from './store.ts';

export interface FeedServices extends SharedServices {
  readonly feed: FeedStore;
  readonly changeWatcher: ChangeWatcher;
  readonly revocations: Pick<Revocations, 'isRevoked'>;
  /** Returns a booking as an item of a list. */
  readonly bookingItem: (state: BookingState) => object;
}

export interface FeedQuery {
  readonly facilityId?: string;
  readonly afterChangeNumber?: number;
  /** Begins after the last change, for a client that has just read the bookings with a search. */
  readonly latest?: boolean;
  /**
   * A parameter of the link `next`. Old deletions are removed from the feed. For a client that reads the feed from its
   * beginning, the value is the highest change number that had been removed when the client read its first page. For
   * other clients, the value is 0.
   */
  readonly removed?: number;
  readonly limit?: number;
}

interface FeedRequest {
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

  return async (
    query: FeedQuery,
    validationErrors: readonly ValidationError[],
    caller: Caller,
    prefer: string | undefined,
  ): Promise<EndpointResponse> => {
    const request = feedRequest(query, validationErrors, caller, baseUrl);
    if (query.latest) {
      const { facilityId } = request;
      const afterChangeNumber = (await feed.numberChanges([facilityId])).get(facilityId) ?? 0;
      return { status: 200, body: envelopeOf({ ...request, afterChangeNumber }, { changes: [], removed: 0 }) };
    }
    const preferredSeconds = waitSecondsOf(prefer);
    const waitSeconds = Math.min(preferredSeconds ?? 0, maxWaitSeconds);
    let page = await readPage(request);
    // False if too many requests already wait, or if the service is already stopping. The response then says `wait=0`.
    let mayWait = true;
    if (page.changes.length === 0 && waitSeconds > 0) {
      const { facilityId } = request;
      const waiting = { facilityId, changeNumber: page.changeNumber, caller };
      mayWait = await changeWatcher.waitForChange(waiting, waitSeconds * 1000);
      if (revocations.isRevoked(caller)) throw revokedError(baseUrl, caller);
      if (mayWait) page = await readPage(request);
    }
    const appliedSeconds = mayWait ? waitSeconds : 0;
    const headers = preferredSeconds === undefined ? {} : { 'Preference-Applied': `wait=${appliedSeconds}` };
    return { status: 200, body: envelopeOf(request, page), headers };
  };

  async function readPage({ facilityId, afterChangeNumber, removed, limit }: FeedRequest) {
    const changeNumber = (await feed.numberChanges([facilityId])).get(facilityId) ?? 0;
    const { changes, removedNumber } = await feed.changesAfter(facilityId, afterChangeNumber, limit);
    // Old deletions up to `removedNumber` were removed from the feed. A client that starts from the beginning has seen
    // none of the deleted bookings, so it misses nothing. Any other client that continues after a lower number
    // may miss deletions, and must start again (410).
    const startsFromBeginning = afterChangeNumber === 0 && removed === undefined;
    const knownRemoved = removed ?? (startsFromBeginning ? removedNumber : 0);
    if (removedNumber > Math.max(knownRemoved, afterChangeNumber)) throw apiError('ERR00410');
    return { changes, changeNumber, removed: knownRemoved };
  }

  function envelopeOf(
    { facilityId, afterChangeNumber, limit }: FeedRequest,
    { changes, removed }: { readonly changes: readonly Change[]; readonly removed: number },
  ) {
    const linkAfter = (number: number) =>
      link('GET', `${path}${writeQueryString({ facilityId, afterChangeNumber: number, removed, limit })}`);
    const next = linkAfter(changes.at(-1)?.number ?? afterChangeNumber);
    const items = changes.map(itemOf);
    return { items, next: next.href, _links: { self: linkAfter(afterChangeNumber), next } };
  }

  function itemOf({ bookingId, number, isDeleted, state, actor }: Change) {
    const item = { kind: 'Booking', id: bookingId, modified: number, actor };
    return isDeleted || !state
      ? { state: 'deleted', ...item }
      : { state: 'updated', ...item, data: bookingItem(state) };
  }
}

/** @throws {ApiError} 400 if a parameter is missing or invalid, 403 if the token names no facility */
function feedRequest(
  query: FeedQuery,
  validationErrors: readonly ValidationError[],
  caller: Caller,
  baseUrl: string,
): FeedRequest {
  const { afterChangeNumber = 0, removed, limit = defaultFeedLimit } = query;
  return { facilityId: selectFacility(query, validationErrors, caller, baseUrl), afterChangeNumber, removed, limit };
}
