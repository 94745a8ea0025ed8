// Handles GET /api/bookings and GET /api/bays/{id}/upcoming-bookings: searches bookings and returns a page.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { PageRequest } from '@bay-booking/common/page';
import { isText } from '@bay-booking/common/text';
import { Temporal } from 'temporal-polyfill';
import type { Caller, CallerRequest } from '../auth/caller.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import type { EndpointServices } from '../http/endpoint-parts.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../http/pagination.ts';
import type { Catalogue } from '../places/catalogue-store.ts';
import type { PlacesStore } from '../places/store.ts';
import { bookingItem } from './booking.ts';
import type { BookingFilter } from './search/filters.ts';
import { mergeSearch, type SearchBody, type SearchQuery } from './search/request.ts';
import type { SearchResult, SearchStore } from './search/store.ts';

export interface ListServices extends EndpointServices {
  readonly searches: SearchStore;
  readonly catalogue: Catalogue;
  readonly places: PlacesStore;
}

type UpcomingQuery = Partial<PageRequest> & { readonly todayOnly?: boolean };

export async function searchBookings(services: ListServices, request: CallerRequest<SearchQuery, SearchBody>) {
  const { filter, page, dates, validationErrors } = mergeSearch(request.query, request.body, request.validationErrors);
  if (validationErrors.length > 0) throw badRequest(problemsOf(validationErrors));
  const criteria = await findCriteria(services, filter, request.caller);
  const result = criteria ? await services.searches.search(criteria, page) : { rows: [], total: 0 };
  return pageOf(services, result, '/api/bookings', { ...request.sentQuery, ...dates }, page);
}

export async function listUpcomingBookings(
  services: ListServices,
  { params: { id = '' }, query, sentQuery, caller: { facilities } }: CallerRequest<UpcomingQuery>,
): Promise<EndpointResponse> {
  const { catalogue, places, searches } = services;
  const facilityId = isText(id) ? (await catalogue.findFacilities('bays', facilities, [id])).get(id) : undefined;
  if (facilityId === undefined) throw apiError('ERR00404');
  const page = pageRequest(query, defaultPageSizes.upcomingBookings);
  const now = services.now();
  const [facility] = query.todayOnly ? await places.findFacilities([facilityId]) : [];
  const upcoming = { before: facility && startOfTomorrow(now, facility.timeZone) };
  const result = await searches.search({ facilities: [facilityId], bayIds: [id], now, upcoming }, page);
  return pageOf(services, result, `/api/bays/${encodeURIComponent(id)}/upcoming-bookings`, sentQuery, page);
}

function startOfTomorrow(now: Date, timeZone: string): Date {
  const today = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timeZone).toPlainDate();
  return new Date(today.add({ days: 1 }).toZonedDateTime(timeZone).epochMilliseconds);
}

/** Selects facilities that can have matching bookings. Returns undefined if no facility can. */
async function findCriteria({ catalogue, now }: ListServices, filter: BookingFilter, { facilities }: Caller) {
  // `mergeSearch` removes ids that are not UUIDs. These arrays can therefore be empty although the request contains
  // ids.
  if (facilities.length === 0 || filter.ids?.length === 0 || filter.groupIds?.length === 0) return undefined;
  let selected = facilities;
  const select = async (kind: 'bays' | 'locations', ids: readonly string[]): Promise<void> => {
    selected = [...new Set((await catalogue.findFacilities(kind, selected, ids, 'also removed')).values())];
  };
  if (filter.locationIds) await select('locations', filter.locationIds);
  // The search itself also filters by `bayIds`, so a single facility needs no look-up.
  if (filter.bayIds && selected.length > 1) await select('bays', filter.bayIds);
  return selected.length === 0 ? undefined : { ...filter, facilities: selected, now: now() };
}

function pageOf(
  { link }: ListServices,
  { rows, total }: SearchResult,
  path: string,
  sentQuery: Readonly<Record<string, unknown>>,
  page: PageRequest,
): EndpointResponse {
  const items = rows.map((booking) => bookingItem(booking, link));
  return listResponse({ path, sentQuery, page }, items, total, link);
}
