// Creates deliveries for the changes after the cursor of each webhook and facility and moves the cursor.
//
// Every instance has a feeder. If two instances read the same changes, only one of them can move the cursor. Replays
// have their own loop, so that they do not delay new events.
import { randomUUID } from 'node:crypto';
import type { Logger } from '@bay-booking/service/logging';
import { type Loop, startLoop } from '@bay-booking/service/periodic';
import type { FeedChange, FeedStore, LogPage } from '../../changes/feed/store.ts';
import { type BookingState, erasedText } from '../../changes/log.ts';
import type { BookingEvent } from '../webhook.ts';
import type { Cursor, CursorMove, CursorStore, Replay } from './cursor-store.ts';
import type { NewDelivery } from './delivery-store.ts';

/** The time between two polls of the change feed. */
const pollMilliseconds = 500;
/** Each cursor moves by at most this number of changes before the next cursor moves. */
const pageSize = 500;

export interface FeederOptions {
  readonly now: () => Date;
  readonly cursors: Pick<CursorStore, 'findActive' | 'findReplays' | 'advance'>;
  readonly feed: Pick<FeedStore, 'numberChanges' | 'changesAfter' | 'logAfter'>;
  /** Returns a booking as an item of a list. */
  readonly bookingItem: (state: BookingState) => object;
  /** Called after deliveries were added. */
  readonly wakeWorker: () => void;
  readonly logger: Logger;
}

export function startFeeder(options: FeederOptions): Pick<Loop, 'stop'> {
  const { logger } = options;
  const intervalMs = pollMilliseconds;
  const loops = [
    startLoop({ name: 'webhook events', intervalMs, run: () => processCursors(options), logger }),
    startLoop({ name: 'webhook replays', intervalMs, run: () => processReplays(options), logger }),
  ];
  return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) };
}

/** Moves each cursor by up to one page of changes. Returns whether a cursor has more changes to process. */
async function processCursors(options: FeederOptions): Promise<boolean> {
  const { cursors, feed } = options;
  const active = await cursors.findActive();
  if (active.length === 0) return false;
  const byFacility = Map.groupBy(active, ({ facilityId }) => facilityId);
  let hasMore = false;
  // The changes get their numbers here, unless a request for the feed or the job "compaction" has numbered them.
  // A facility with many of them is continued later, and does not delay the others.
  const latestNumbers = await feed.numberChanges([...byFacility.keys()], async () => true);
  for (const [facilityId, latest] of latestNumbers) {
    const readPage = createPageReader(feed, facilityId);
    for (const cursor of byFacility.get(facilityId) ?? []) {
      if (cursor.number < latest && (await addNewChanges(cursor, latest, await readPage(cursor.number), options)))
        hasMore = true;
    }
  }
  return hasMore;
}

/** Moves each replay by up to one page of changes. Returns whether a replay has more changes to process. */
async function processReplays(options: FeederOptions): Promise<boolean> {
  const { cursors, feed } = options;
  let hasMore = false;
  for (const cursor of await cursors.findReplays()) {
    const { changes } = await feed.changesAfter(cursor.facilityId, cursor.replayNumber, pageSize);
    if (await addReplayedChanges(cursor, changes, options)) hasMore = true;
  }
  return hasMore;
}

/** Reads each page only once, because most webhooks of a facility continue after the same number. */
function createPageReader(feed: Pick<FeedStore, 'logAfter'>, facilityId: string) {
  const pages = new Map<number, Promise<LogPage>>();
  return (number: number): Promise<LogPage> => {
    const page = pages.get(number) ?? feed.logAfter(facilityId, number, pageSize);
    pages.set(number, page);
    return page;
  };
}

/**
 * Adds deliveries for a page of new changes. If there are none, moves the cursor to the facility's number `latest`, so
 * that the page is not read again. Returns whether there are more changes.
 */
async function addNewChanges(cursor: Cursor, latest: number, { changes, hasMore }: LogPage, options: FeederOptions) {
  const typeOf = typeAfter(cursor.number);
  const move = { from: cursor.number, to: changes.at(-1)?.number ?? latest, isReplay: false };
  return (await advanceCursor(cursor, move, changes, typeOf, options)) && hasMore;
}

/** The receiver does not know bookings that came to the facility after `number`. */
const typeAfter =
  (number: number) =>
  ({ isDeleted, firstNumber }: FeedChange): BookingEvent => {
    if (isDeleted) return 'booking.deleted';
    return firstNumber > number ? 'booking.created' : 'booking.updated';
  };

/** Adds deliveries for a page of changes that a replay sends again. Returns whether the replay has more changes. */
async function addReplayedChanges(cursor: Replay, changes: readonly FeedChange[], options: FeederOptions) {
  const { replayNumber: from, replayUntil: until, replayFrom } = cursor;
  const selected = changes.filter(({ number }) => number <= until);
  // The page is the last one if the feed ends with it, or if it contains changes after the end of the replay.
  const isLastPage = changes.length < pageSize || selected.length < changes.length;
  const to = isLastPage ? until : (selected.at(-1)?.number ?? until);
  const move = { from, to, isReplay: true };
  return (await advanceCursor(cursor, move, selected, typeAfter(replayFrom), options)) && !isLastPage;
}

/**
 * Moves the cursor and adds deliveries for the changes. Does nothing and returns false if another instance has moved
 * the cursor, if a booking was erased meanwhile, or if too many deliveries wait.
 */
async function advanceCursor(
  cursor: Cursor,
  move: Omit<CursorMove, 'personal'>,
  changes: readonly FeedChange[],
  typeOf: (change: FeedChange) => BookingEvent,
  { cursors, bookingItem, wakeWorker, now }: FeederOptions,
): Promise<boolean> {
  const at = now();
  const deliveries = changes.flatMap((change): NewDelivery[] => {
    const type = typeOf(change);
    const { facilityId } = cursor;
    const body = cursor.events.includes(type) && eventBody(type, facilityId, change, bookingItem, at);
    if (!body) return [];
    return [{ id: randomUUID(), type, facilityId, bookingId: change.bookingId, modified: change.number, body }];
  });
  const personal = changes.filter(({ state }) => state?.userAlias !== erasedText).map(({ number }) => number);
  const isAdvanced = await cursors.advance(cursor, { ...move, personal }, deliveries, at);
  if (isAdvanced && deliveries.length > 0) wakeWorker();
  return isAdvanced;
}

/**
 * Returns undefined if the last state is unknown, because the booking was deleted outside the service. Nothing can be
 * delivered then.
 */
export function eventBody(
  type: BookingEvent,
  facilityId: string,
  { number: modified, isDeleted, state, actor }: FeedChange,
  bookingItem: (state: BookingState) => object,
  at: Date,
): string | undefined {
  if (!state) return undefined;
  const timestamp = isDeleted ? at.toISOString() : state.lastUpdatedAt;
  const data = { facilityId, modified, actor, booking: bookingItem(state) };
  return JSON.stringify({ type, timestamp, data });
}
