// Lists the named schemas of openapi.json. `npm run generate` writes this file.
import type { components } from './bookings-api.ts';

type Schemas = components['schemas'];

export type Booking = Schemas['Booking'];
export type BookingItem = Schemas['BookingItem'];
export type BookingList = Schemas['BookingList'];
export type CreateBooking = Schemas['CreateBooking'];
export type UpdateBooking = Schemas['UpdateBooking'];
export type SearchBody = Schemas['SearchBody'];
export type BookingChangeList = Schemas['BookingChangeList'];
export type BookingLocation = Schemas['BookingLocation'];
export type BookingLocationList = Schemas['BookingLocationList'];
export type BookingBay = Schemas['BookingBay'];
export type BookingBayList = Schemas['BookingBayList'];
export type Webhook = Schemas['Webhook'];
export type WebhookWithSecret = Schemas['WebhookWithSecret'];
export type WebhookList = Schemas['WebhookList'];
export type CreateWebhook = Schemas['CreateWebhook'];
export type UpdateWebhook = Schemas['UpdateWebhook'];
export type ReplayWebhook = Schemas['ReplayWebhook'];
export type DeliveryList = Schemas['DeliveryList'];
export type OpeningHours = Schemas['OpeningHours'];
export type SetOpeningHours = Schemas['SetOpeningHours'];
export type Closure = Schemas['Closure'];
export type ClosureList = Schemas['ClosureList'];
export type ClosureBody = Schemas['ClosureBody'];
export type Availability = Schemas['Availability'];
export type BayAvailability = Schemas['BayAvailability'];
export type Hold = Schemas['Hold'];
export type CreateHold = Schemas['CreateHold'];
export type ExtendHold = Schemas['ExtendHold'];
export type Me = Schemas['Me'];
export type Link = Schemas['Link'];
export type EditLinks = Schemas['EditLinks'];
export type PageLinks = Schemas['PageLinks'];
export type Errors = Schemas['Errors'];
