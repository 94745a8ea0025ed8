// Lists what the API consists of: its endpoints, and the tags and named schemas of the OpenAPI document. Only the
// endpoints of webhooks are created elsewhere (webhooks/webhooks.ts), because webhooks can be switched off.
import { linksBelow } from '@bay-booking/common/links';
import type { Database } from '@bay-booking/service/database/database';
import { createAvailabilityEndpoints } from './availability/endpoints.ts';
import { availabilityComponents } from './availability/schema.ts';
import { createBookingEndpoints } from './bookings/endpoints.ts';
import { bookingListExample } from './bookings/examples.ts';
import { createStateItem } from './bookings/resource.ts';
import { bookingComponents, bookingItemSchema } from './bookings/schema.ts';
import { createSearchStore } from './bookings/search/store.ts';
import { createBookingStore } from './bookings/storage/store.ts';
import { createChangeWatcher } from './changes/feed/change-watcher.ts';
import { createFeedEndpoints } from './changes/feed/endpoints.ts';
import { changeListSchema } from './changes/feed/schema.ts';
import { createFeedStore } from './changes/feed/store.ts';
import { createClosureEndpoints } from './closures/endpoints.ts';
import { closureComponents } from './closures/schema.ts';
import { createClosureStore } from './closures/store.ts';
import { createHoldEndpoints } from './holds/endpoints.ts';
import { holdComponents } from './holds/schema.ts';
import { createHoldStore } from './holds/store.ts';
import type { SharedServices } from './http/shared-services.ts';
import { createIdempotencyStore } from './idempotency/store.ts';
import { createOpeningHoursEndpoints } from './opening-hours/endpoints.ts';
import { openingHoursComponents } from './opening-hours/schema.ts';
import { createOpeningHoursStore } from './opening-hours/store.ts';
import { createCatalogue } from './places/catalogue.ts';
import { createPlacesEndpoints } from './places/endpoints.ts';
import { placeComponents } from './places/schema.ts';
import { createPlacesStore } from './places/store.ts';
import { createFacilityLookup } from './places/tagged-id.ts';
import { webhookComponents } from './webhooks/api/schema.ts';

/** The tags in the order of the API reference. */
export const tags = [
  { name: 'Bookings', description: 'Bookings of bays.' },
  { name: 'Places', description: 'Locations and their bays.' },
  { name: 'Webhooks', description: 'Notifications of changes.' },
  { name: 'Availability', description: 'When bays are free.' },
  { name: 'Holds', description: 'Bays that are kept free for one client.' },
  { name: 'Opening hours and closures', description: 'When bays can be booked.' },
];

const bookingChangeList = changeListSchema(bookingItemSchema);

/**
 * The schemas that have a name in the OpenAPI document. Clients that are generated from the document use these names
 * for their types.
 */
export const namedSchemas = {
  ...bookingComponents,
  BookingChangeList: bookingChangeList,
  ...placeComponents,
  ...webhookComponents,
  ...openingHoursComponents,
  ...closureComponents,
  ...availabilityComponents,
  ...holdComponents,
};

export interface EndpointOptions extends Omit<SharedServices, 'link'> {
  readonly db: Database;
  /** Is aborted when the service stops. Requests that wait for changes then end. */
  readonly stopping?: AbortSignal | undefined;
}

export function createEndpoints({ db, stopping, config, metrics, now }: EndpointOptions) {
  const shared: SharedServices = { config, metrics, link: linksBelow(config.baseUrl), now };
  const feed = createFeedStore(db);
  const places = createPlacesStore(db);
  const catalogue = createCatalogue(places);
  const idempotency = createIdempotencyStore(db);
  const holds = createHoldStore(db);
  const bookingServices = { ...shared, idempotency, catalogue };
  return [
    ...createBookingEndpoints({
      ...bookingServices,
      store: createBookingStore(db),
      searches: createSearchStore(db),
      findLikelyFacilities: createFacilityLookup(),
      findHold: holds.find,
    }),
    ...createFeedEndpoints({
      ...shared,
      feed,
      changeWatcher: createChangeWatcher({ store: feed, stopping }),
      bookingItem: createStateItem(shared.link),
      bookingExample: bookingListExample(config.baseUrl).items[0] as { id: string },
      listSchema: bookingChangeList,
    }),
    ...createPlacesEndpoints({ ...shared, store: places }),
    ...createOpeningHoursEndpoints({ ...shared, store: createOpeningHoursStore(db) }),
    ...createClosureEndpoints({ ...shared, store: createClosureStore(db), idempotency }),
    ...createAvailabilityEndpoints({ ...shared, db, findHold: holds.find }),
    // A maximum of 0 holds turns the feature off.
    ...(config.holdsPerClient === 0 ? [] : createHoldEndpoints({ ...bookingServices, store: holds })),
  ];
}
