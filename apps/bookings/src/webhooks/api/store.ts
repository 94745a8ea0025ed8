// Reads and writes webhooks. Their cursors and deliveries change in the same transactions (delivery/).
import { type Database, query, Rollback, send, transaction } from '@bay-booking/service/database/database';
import { type NewResponse, storeResponse } from '../../idempotency/store.ts';
import { addCursors, removeCursors, resetCursors } from '../delivery/cursor-store.ts';
import { failDeliveries } from '../delivery/delivery-store.ts';
import { maxWebhooksOfClient, type Webhook } from '../webhook.ts';

const columns = `id, client_id as "clientId", url, events, facility_ids as "facilityIds", description, state,
failing_since as "failingSince", created_at as "createdAt", last_updated_at as "lastUpdatedAt"`;

/** Selects the webhooks of the client $1 whose facilities are all in $2, the facilities of the token. */
const visible = 'client_id = $1 and facility_ids <@ $2::text[]';

const statements = {
  /**
   * Makes registrations of the same client run one at a time. Otherwise, concurrent registrations could exceed the
   * maximum number of webhooks of a client.
   */
  lockClient: "select pg_advisory_xact_lock(hashtextextended('webhook ' || $1, 0))",
  count: 'select count(*)::int as total from webhook where client_id = $1',
  insert: `insert into webhook
  (id, client_id, url, events, facility_ids, description, state, secret, created_at, last_updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`,
  list: `select ${columns} from webhook where ${visible} order by created_at, id`,
  find: `select ${columns} from webhook where ${visible} and id = $3`,
  lock: `select ${columns} from webhook where id = $1 for update`,
  /**
   * A webhook that is enabled again no longer counts as failing. In the `case`, `state` is the state before the update.
   */
  update: `update webhook set url = $2, events = $3, facility_ids = $4, description = $5, state = $6,
  failing_since = case when state = 'disabled' and $6 <> 'disabled' then null else failing_since end,
  last_updated_at = $7
where id = $1 returning ${columns}`,
  delete: 'delete from webhook where id = $1 returning id',
  rotate: `update webhook set previous_secret = secret, previous_secret_until = $3, secret = $2, last_updated_at = $4
where id = $1 returning id`,
  /** Parameter $1 is the prefix of every secret that is encrypted with the current key. */
  findOldSecrets: `select id, secret, previous_secret as "previousSecret" from webhook
where (secret not like $1 || '%' or previous_secret not like $1 || '%') and id > $2 order by id limit $3`,
  replaceSecrets: `update webhook set secret = $3, previous_secret = $5
where id = $1 and secret = $2 and previous_secret is not distinct from $4`,
} as const;

export interface StoredSecrets {
  /** The id of the webhook. */
  readonly id: string;
  readonly secret: string;
  readonly previousSecret: string | null;
}

export type NewWebhook = Omit<Webhook, 'failingSince' | 'lastUpdatedAt'> & { readonly encryptedSecret: string };
export type WebhookChange = Pick<Webhook, 'url' | 'events' | 'facilityIds' | 'description' | 'state'>;

/** The number of the latest change of each facility. */
export type LatestNumbers = ReadonlyMap<string, number>;

export type WebhookStore = ReturnType<typeof createWebhookStore>;

export function createWebhookStore(db: Database) {
  return {
    /**
     * Registers a webhook. For each facility, the webhook receives the changes whose numbers are higher than the number
     * in `latest`. `response` is given if the request had an Idempotency-Key, and is then stored. Returns false if the
     * client has too many webhooks.
     */
    create: (webhook: NewWebhook, latest: LatestNumbers, response?: NewResponse): Promise<boolean> => {
      const { id, clientId, url, events, facilityIds, description, state, encryptedSecret, createdAt } = webhook;
      return transaction(db, async (tx) => {
        // A response is stored with only one facility, here the first one of the webhook. The others need not be
        // stored: before register.ts returns the response again, it checks that the token names all facilities of the
        // webhook.
        const [facilityId = ''] = facilityIds;
        await storeResponse(tx, response, { facilityId, createdAt });
        const [, [count]] = await Promise.all([
          query(tx, statements.lockClient, [clientId]),
          query<{ total: number }>(tx, statements.count, [clientId]),
        ]);
        if ((count?.total ?? 0) >= maxWebhooksOfClient) throw new Rollback(false);
        const values = [id, clientId, url, events, facilityIds, description, state, encryptedSecret, createdAt];
        send(tx, statements.insert, values);
        addCursors(tx, id, latest, createdAt);
        return true;
      });
    },

    list: (clientId: string, facilities: readonly string[]) =>
      query<Webhook>(db, statements.list, [clientId, facilities]),

    find: async (clientId: string, facilities: readonly string[], id: string): Promise<Webhook | undefined> =>
      (await query<Webhook>(db, statements.find, [clientId, facilities, id]))[0],

    /**
     * Changes the webhook. Returns undefined if the webhook was deleted. `check` gets the webhook before the change. If
     * `check` throws an error, nothing is changed.
     *
     * If `change` adds a facility, the webhook receives only the booking changes of this facility whose change numbers
     * are higher than its number in `latest`. If `change` enables a disabled webhook, the same rule applies to all its
     * facilities.
     */
    update: (
      id: string,
      change: WebhookChange,
      { latest, at, check }: { latest: LatestNumbers; at: Date; check: (before: Webhook) => void },
    ): Promise<Webhook | undefined> =>
      transaction(db, async (tx) => {
        const [before] = await query<Webhook>(tx, statements.lock, [id]);
        if (!before) return undefined;
        check(before);
        const { url, events, facilityIds, description, state } = change;
        const updated = query<Webhook>(tx, statements.update, [
          id,
          url,
          events,
          facilityIds,
          description,
          state,
          at.toISOString(),
        ]);
        removeCursors(tx, id, facilityIds);
        failDeliveries(tx, id, facilityIds);
        if (before.state === 'disabled' && state !== 'disabled') resetCursors(tx, id, latest);
        addCursors(tx, id, latest, at.toISOString());
        return (await updated)[0];
      }),

    /** Returns false if the webhook was already deleted. If `check` throws an error, the webhook is not deleted. */
    delete: (id: string, check: (webhook: Webhook) => void): Promise<boolean> =>
      transaction(db, async (tx) => {
        const [webhook] = await query<Webhook>(tx, statements.lock, [id]);
        if (!webhook) return false;
        check(webhook);
        send(tx, statements.delete, [id]);
        return true;
      }),

    /** Returns false if the webhook was deleted. */
    rotate: async (id: string, encryptedSecret: string, previousUntil: Date, at: Date): Promise<boolean> => {
      const values = [id, encryptedSecret, previousUntil.toISOString(), at.toISOString()];
      return (await query(db, statements.rotate, values)).length > 0;
    },

    /** Finds secrets that were not encrypted with the current key, of webhooks with ids after `after`. */
    findOldSecrets: (currentPrefix: string, after: string, limit: number) =>
      query<StoredSecrets>(db, statements.findOldSecrets, [currentPrefix, after, limit]),

    /** Replaces the secrets of a webhook, unless they have been rotated in the meantime. */
    replaceSecrets: async (old: StoredSecrets, secret: string, previousSecret: string | null): Promise<void> => {
      await query(db, statements.replaceSecrets, [old.id, old.secret, secret, old.previousSecret, previousSecret]);
    },
  };
}
