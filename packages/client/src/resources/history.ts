// Reads the history of bookings at a facility.
import type { RequestOptions, Send } from '../operations.ts';
import type { History, HistoryQuery } from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';

export type BookingsHistory = ReturnType<typeof createHistory>;

export const createHistory = (send: Send) => ({
  /** Lists the changes that match every filter, newest first. */
  list: (query: HistoryQuery = {}, options?: RequestOptions): PagedList<History> =>
    pagedList(send, 'listHistory', { query, ...options }),
});
