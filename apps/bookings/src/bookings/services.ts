// Defines what booking handlers need.

import type { IdempotencyStore } from '@bay-booking/service/idempotency/store';
import type { HoldStore } from '../holds/store.ts';
import type { SharedServices } from '../http/shared-services.ts';
import type { Catalogue } from '../places/catalogue-store.ts';
import type { SearchStore } from './search/store.ts';
import type { BookingStore } from './storage/store.ts';

export interface BookingServices extends SharedServices {
  readonly store: BookingStore;
  readonly searches: SearchStore;
  readonly idempotency: IdempotencyStore;
  readonly catalogue: Catalogue;
  readonly holds: HoldStore;
}
