// Names the types of resources, request bodies and queries.
import type { QueryOf } from './operations.ts';

export type * from './generated/schemas.ts';

export type BookingSearch = QueryOf<'searchBookings'>;
export type BookingHistoryQuery = QueryOf<'getBookingHistory'>;
export type HistoryQuery = QueryOf<'listHistory'>;
export type UpcomingBookingsQuery = QueryOf<'listUpcomingBookings'>;
export type LocationQuery = QueryOf<'listBookingLocations'>;
export type BayQuery = QueryOf<'listBookingBays'>;
export type ClosureQuery = QueryOf<'listClosures'>;
export type AvailabilityQuery = QueryOf<'getAvailability'>;
export type UsageQuery = QueryOf<'getBookingUsage'>;
export type DeliveryQuery = QueryOf<'listWebhookDeliveries'>;
