// Lists the tags and the named schemas of the OpenAPI document.
import { availabilityComponents } from '../availability/endpoints.ts';
import { bookingComponents, bookingItemSchema } from '../bookings/booking.ts';
import { changeComponents } from '../changes/feed/endpoints.ts';
import { historyComponents } from '../changes/history/endpoints.ts';
import { closureComponents } from '../closures/closure.ts';
import { erasureComponents } from '../erasure/endpoints.ts';
import { groupComponents } from '../groups/schema.ts';
import { holdComponents } from '../holds/endpoints.ts';
import { meComponents } from '../me/endpoint.ts';
import { openingHoursComponents } from '../opening-hours/schema.ts';
import { placeComponents } from '../places/schema.ts';
import { usageComponents } from '../usage/endpoints.ts';
import { facilityWebhookComponents } from '../webhooks/api/facility-endpoints.ts';
import { bookingEventSchema, pingEventSchema, webhookComponents } from '../webhooks/api/schema.ts';

/** In the order of the API reference. */
export const tags = [
  { name: 'Bookings', description: 'Bookings of bays.' },
  { name: 'Groups', description: 'Several bookings, all or none.' },
  { name: 'Places', description: 'Locations and their bays.' },
  { name: 'Webhooks', description: 'Notifications of changes.' },
  { name: 'Availability', description: 'When bays are free.' },
  { name: 'Usage', description: 'How full the bays were.' },
  { name: 'Holds', description: 'Bays that are kept free for one owner.' },
  { name: 'Opening hours and closures', description: 'When bays can be booked.' },
  { name: 'Token', description: 'What the access token allows.' },
];

const bookingChangeComponents = changeComponents(bookingItemSchema);

export const bookingChangeListSchema = bookingChangeComponents.BookingChangeList;

export const bookingEvent = bookingEventSchema(bookingItemSchema);

/** Clients that are generated from the document use these names for their types. */
export const namedSchemas = {
  ...bookingComponents,
  ...bookingChangeComponents,
  ...historyComponents,
  ...erasureComponents,
  ...placeComponents,
  ...webhookComponents,
  ...facilityWebhookComponents,
  BookingEvent: bookingEvent,
  PingEvent: pingEventSchema,
  ...openingHoursComponents,
  ...closureComponents,
  ...availabilityComponents,
  ...holdComponents,
  ...groupComponents,
  ...usageComponents,
  ...meComponents,
};
