// Names the resources and request bodies of the OpenAPI document.
import type { components } from './generated/bookings-api.ts';
import type { BodyOf, QueryOf } from './operations.ts';

type Schemas = components['schemas'];

export type Booking = Schemas['Booking'];
/** A booking as an item of a list: its only link is `self`. */
export type BookingItem = Schemas['BookingItem'];
export type BookingList = Schemas['BookingList'];
export type CreateBooking = Schemas['CreateBooking'];
export type UpdateBooking = Schemas['UpdateBooking'];
export type BookingSearch = QueryOf<'searchBookings'>;
export type UpcomingBookingsQuery = QueryOf<'listUpcomingBookings'>;

export type BookingLocation = Schemas['BookingLocation'];
export type BookingLocationList = Schemas['BookingLocationList'];
export type LocationQuery = QueryOf<'listBookingLocations'>;
export type BookingBay = Schemas['BookingBay'];
export type BookingBayList = Schemas['BookingBayList'];
export type BayQuery = QueryOf<'listBookingBays'>;

export type OpeningHours = Schemas['OpeningHours'];
export type SetOpeningHours = Schemas['SetOpeningHours'];
export type Closure = Schemas['Closure'];
export type ClosureList = Schemas['ClosureList'];
export type ClosureBody = Schemas['ClosureBody'];
export type ClosureQuery = QueryOf<'listClosures'>;

/** A page of the free times of bays. */
export type Availability = Schemas['Availability'];
export type BayAvailability = Schemas['BayAvailability'];
export type AvailabilityQuery = QueryOf<'getAvailability'>;
export type Hold = Schemas['Hold'];
export type CreateHold = Schemas['CreateHold'];
export type ExtendHold = Schemas['ExtendHold'];

export type BookingChangeList = Schemas['BookingChangeList'];
export type BookingChange = BookingChangeList['items'][number];

export type Webhook = Schemas['Webhook'];
export type WebhookWithSecret = Schemas['WebhookWithSecret'];
export type WebhookList = Schemas['WebhookList'];
export type CreateWebhook = Schemas['CreateWebhook'];
export type UpdateWebhook = Schemas['UpdateWebhook'];
export type ReplayWebhook = BodyOf<'replayWebhook'>;
export type DeliveryList = Schemas['DeliveryList'];
export type DeliveryQuery = QueryOf<'listWebhookDeliveries'>;
