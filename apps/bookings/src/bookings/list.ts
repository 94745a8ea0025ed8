// Handles GET /api/bookings and GET /api/bays/{id}/upcoming-bookings: searches bookings and returns a page of them.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { PageRequest } from '@bay-booking/common/page';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../http/pagination.ts';
import { isText } from '../http/schemas.ts';
import type { SharedServices } from '../http/shared-services.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { bookingItem } from './resource.ts';
import type { Criteria } from './search/criteria.ts';
import { type BookingFilter, mergeSearch, type SearchBody, type SearchQuery } from './search/filter.ts';
import type { SearchResult, SearchStore } from './search/store.ts';

export interface ListServices extends SharedServices {
  readonly searches: SearchStore;
  readonly catalogue: Catalogue;
}

export interface UpcomingQuery extends Partial<PageRequest> {
  readonly todayOnly?: boolean;
}

const emptyResult: SearchResult = { rows: [], total: 0 };
/** The `contextData` of errors. The external id is empty, because the errors of a list do not concern one booking. */
const errorContext = { externalBookingId: '' };

export function createBookingLister({ searches, catalogue, link, now }: ListServices) {
  const search = async (
    query: SearchQuery,
    body: SearchBody,
    routerErrors: readonly ValidationError[],
    caller: Caller,
  ): Promise<EndpointResponse> => {
    const { filter, page, linkQuery, validationErrors } = mergeSearch(query, body, routerErrors);
    if (validationErrors.length > 0) throw badRequest(problemsOf(validationErrors, errorContext));
    const criteria = await findCriteria(filter, caller);
    const result = criteria ? await searches.search(criteria, page) : emptyResult;
    return pageOf(result, '/api/bookings', linkQuery, page);
  };

  const upcoming = async (bayId: string, query: UpcomingQuery, { facilities }: Caller): Promise<EndpointResponse> => {
    const facilityId = isText(bayId) ? await catalogue.findFacilityOfBay(facilities, bayId) : undefined;
    if (facilityId === undefined) throw apiError('ERR00404', { context: errorContext });
    const page = pageRequest(query, defaultPageSizes.upcomingBookings);
    const criteria = { facilities: [facilityId], bayIds: [bayId], now: now() };
    const result = await searches.search({ ...criteria, upcoming: { todayOnly: query.todayOnly === true } }, page);
    return pageOf(result, `/api/bays/${encodeURIComponent(bayId)}/upcoming-bookings`, query, page);
  };

  /** Selects the facilities in which bookings can match the filter. Returns undefined if there is no such facility. */
  async function findCriteria(filter: BookingFilter, { facilities }: Caller): Promise<Criteria | undefined> {
    // `mergeSearch` removes ids that are not UUIDs, so `ids` can be empty although the request contains ids.
    if (facilities.length === 0 || filter.ids?.length === 0) return undefined;
    const { locationIds, bayIds } = filter;
    let selected = facilities;
    if (locationIds) selected = await catalogue.findFacilitiesOfLocations(selected, locationIds);
    // The search itself also filters by `bayIds`, so a single facility needs no look-up.
    if (bayIds && selected.length > 1) selected = await catalogue.findFacilitiesOfBays(selected, bayIds);
    return selected.length === 0 ? undefined : { ...filter, facilities: selected, now: now() };
  }

  function pageOf({ rows, total }: SearchResult, path: string, query: object, page: PageRequest): EndpointResponse {
    const items = rows.map((booking) => bookingItem(booking, link));
    // The copy of `query` has the type of a record, which `listResponse` expects.
    return listResponse({ path, query: { ...query }, page }, items, total, link);
  }

  return { search, upcoming };
}
