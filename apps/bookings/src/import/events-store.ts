// Stores the events of the management API and of imports. They never contain a value, only the names of fields.
import { send, type Transaction } from '@bay-booking/service/database/database';

export interface NewEvent {
  /** Such as `bay.updated`. */
  readonly action: string;
  readonly clientId: string;
  readonly facilityId: string;
  /** The path of the resource below `/management/`. */
  readonly target: string;
  /** The names of the fields that changed. */
  readonly changed: readonly string[];
}

// The transaction may have waited for its lock since `now()`.
const insert = `insert into management_event (at, action, client_id, facility_id, target, changed)
select clock_timestamp(), event ->> 'action', event ->> 'clientId', event ->> 'facilityId', event ->> 'target',
  array(select jsonb_array_elements_text(event -> 'changed'))
from jsonb_array_elements($1::jsonb) with ordinality as events (event, position) order by position`;

/** The transaction must have the lock of `lockPlacesOfService`, so that numbers become visible in their order. */
export function storeEvents(tx: Transaction, events: readonly NewEvent[]): void {
  if (events.length > 0) send(tx, insert, [JSON.stringify(events)]);
}
