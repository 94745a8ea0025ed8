// Rewrites the bodies of pending deliveries. Other deliveries have no body.
import { query, send, type Transaction } from '@bay-booking/service/database/database';

const statements = {
  /** Waits until the feeder has added the deliveries of changes that it read before (see cursor-store.ts). */
  lockWebhooks: `select id from webhook
where id in (select webhook_id from webhook_cursor where facility_id = any($1)) order by id for update`,
  find: `select id, body from webhook_delivery
where state = 'pending' and facility_id = any($1) and body::jsonb #>> '{data,booking,id}' = any($2::text[])`,
  update: 'update webhook_delivery set body = $2 where id = $1',
};

/** Rewrites the deliveries of these bookings. The facilities are those where the bookings are or were. */
export async function rewriteBodies(
  tx: Transaction,
  facilities: readonly string[],
  bookingIds: readonly string[],
  rewrite: (body: string) => string,
): Promise<void> {
  await query(tx, statements.lockWebhooks, [facilities]);
  const deliveries = await query<{ id: string; body: string }>(tx, statements.find, [facilities, bookingIds]);
  for (const { id, body } of deliveries) send(tx, statements.update, [id, rewrite(body)]);
}
