// GET /api/bookings and GET /api/bays/{id}/upcoming-bookings: which bookings are there, page by page?
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { PageRequest } from '@bay-booking/common/page';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import { defaultPageSizes, listResponseFromJson, pageRequest } from '../http/pagination.ts';
import { isText } from '../http/text.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { bookingItemWriter } from './resource.ts';
import { type BookingFilter, mergeSearch, type SearchQuery } from './search/filter.ts';
import type { Found, SearchStore } from './search/store.ts';
import type { Criteria } from './search/where.ts';

export interface ListServices {
  readonly searches: SearchStore;
  readonly catalogue: Catalogue;
  readonly link: MakeLink;
  readonly now: () => Date;
}

const nothing: Found = { bookings: [], total: 0 };

export function createBookingLister({ searches, catalogue, link, now }: ListServices) {
  const writeItem = bookingItemWriter(link);
  const answer = ({ bookings, total }: Found, path: string, query: object, page: PageRequest): EndpointResponse => {
    const items = bookings.map(writeItem);
    return listResponseFromJson({ path, query: { ...query }, page }, items, total, link);
  };

  const search = async (
    query: SearchQuery,
    body: { readonly endDate?: string },
    found: readonly ValidationError[],
    caller: Caller,
  ): Promise<EndpointResponse> => {
    const { filter, page, given, validationErrors } = mergeSearch(query, body, found);
    if (validationErrors.length > 0) throw badRequest(problemsOf(validationErrors, { externalBookingId: '' }));
    const criteria = await criteriaOf(filter, caller);
    return answer(criteria ? await searches.search(criteria, page) : nothing, '/api/bookings', given, page);
  };

  /** Undefined where nothing can match. */
  const criteriaOf = async (filter: BookingFilter, { facilities }: Caller): Promise<Criteria | undefined> => {
    if (facilities.length === 0 || filter.ids?.length === 0) return undefined;
    const { locationIds, bayIds } = filter;
    let selected = facilities;
    if (locationIds) selected = await catalogue.facilitiesOfLocations(selected, locationIds);
    if (bayIds && selected.length > 1) selected = await catalogue.facilitiesOfBays(selected, bayIds);
    return selected.length === 0 ? undefined : { ...filter, facilities: selected, now: now() };
  };

  const upcoming = async (
    bayId: string,
    query: { readonly todayOnly?: boolean; readonly page?: number; readonly pageSize?: number },
    { facilities }: Caller,
  ): Promise<EndpointResponse> => {
    const place = isText(bayId) ? await catalogue.findBay(facilities, bayId) : undefined;
    if (!place) throw apiError('ERR00404', { context: { externalBookingId: '' } });
    const page = pageRequest(query, defaultPageSizes.upcomingBookings);
    const found = await searches.search(
      {
        facilities: [place.facilityId],
        bayIds: [bayId],
        upcoming: { todayOnly: query.todayOnly === true },
        now: now(),
      },
      page,
    );
    return answer(found, `/api/bays/${encodeURIComponent(bayId)}/upcoming-bookings`, query, page);
  };

  return { search, upcoming };
}
