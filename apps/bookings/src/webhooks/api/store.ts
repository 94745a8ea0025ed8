// Reads and writes webhooks. Their cursors and deliveries change in the same transactions (delivery/).
import type { PageRequest } from '@bay-booking/common/page';
import {
  type Database,
  query,
  queryOne,
  send,
  type Transaction,
  transaction,
} from '@bay-booking/service/database/database';
import { type NewResponse, storeResponse } from '@bay-booking/service/idempotency';
import { queryPage } from '@bay-booking/service/page-statements';
import { type Caller, ownerOf } from '../../auth/caller.ts';
import { apiError } from '../../errors.ts';
import { addCursors, removeCursors, resetCursors } from '../delivery/cursor-store.ts';
import { failDeliveries } from '../delivery/delivery-store.ts';
import { hasOnlyDisabledFacilities, isDisabledFacility } from '../disabled-store.ts';
import { removeLostFacilities } from '../rights-store.ts';
import { maxWebhooksAtFacility, type Webhook } from '../webhook.ts';

const columns = `id, owner, created_by as "createdBy", url, events, facility_ids as "facilityIds", description,
case when ${hasOnlyDisabledFacilities} then 'paused' else state end as state,
case when ${hasOnlyDisabledFacilities} then 'the facility is disabled' else paused_because end as "pausedBecause",
failing_since as "failingSince", created_at as "createdAt", last_updated_at as "lastUpdatedAt"`;

/** Selects the webhooks of the owner $1 that have one of the token's facilities, $2. */
const visible = 'owner = $1 and facility_ids && $2::text[]';

const pageOfOwner = { columns, from: `from webhook where ${visible}`, orderBy: 'created_at, id' };
const pageOfFacility = {
  columns: `id, url, owner, client_id as "clientId", facility_ids as "facilityIds",
case when state = 'active' and ${isDisabledFacility('$1::text')} then 'paused' else state end as state,
last_success_at as "lastSuccessAt", created_at as "createdAt"`,
  from: 'from webhook where facility_ids @> array[$1::text]',
  orderBy: 'created_at, id',
};

const statements = {
  /**
   * Lets only one request at a time add facilities to the webhooks of an owner. Otherwise, concurrent requests could
   * exceed the maximum number of webhooks.
   */
  lockOwner: "select pg_advisory_xact_lock(hashtextextended('webhook ' || $1, 0))",
  /** Those of the facilities $2 where the owner has the maximum number of webhooks. */
  findFull: `select facility_id as "facilityId" from unnest($2::text[]) as facility (facility_id)
where (select count(*) from webhook where owner = $1 and facility_id = any(facility_ids)) >= ${maxWebhooksAtFacility}`,
  insert: `insert into webhook (id, url, events, facility_ids, description, state, secret, created_at, last_updated_at,
  owner, created_by, client_id, grant_id, token_issued_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12, to_timestamp($13))`,
  find: `select ${columns} from webhook where ${visible} and id = $3`,
  lock: `select ${columns} from webhook where id = $1 for update`,
  /**
   * A webhook that is enabled again no longer counts as failing. In the `case`, `state` is the state before the update.
   */
  update: `update webhook set url = $2, events = $3, facility_ids = $4, description = $5,
  state = coalesce($6, state), paused_because = case when coalesce($6, state) = 'paused' then paused_because end,
  failing_since = case when state = 'disabled' and $6 in ('active', 'paused') then null else failing_since end,
  last_updated_at = $7, client_id = $8, grant_id = $9, token_issued_at = to_timestamp($10)
where id = $1 returning ${columns}`,
  rotate: `update webhook set previous_secret = secret, previous_secret_until = $3, secret = $2, last_updated_at = $4,
  client_id = $5, grant_id = $6, token_issued_at = to_timestamp($7)
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

/** The new values of a webhook. Fields that are undefined do not change. */
export type WebhookChange = {
  readonly [Field in 'url' | 'events' | 'facilityIds' | 'description' | 'state']: Webhook[Field] | undefined;
};

/** A webhook as the owner and the staff of one of its facilities see it. */
export interface FacilityWebhook extends Pick<Webhook, 'id' | 'url' | 'facilityIds' | 'state' | 'createdAt'> {
  readonly owner: string;
  /** The client that created the webhook, or changed it last. */
  readonly clientId: string;
  readonly lastSuccessAt: string | null;
}

/** A webhook ends with the rights of the token that created or last changed it (rights-store.ts). */
const rightsOf = (caller: Caller) => [caller.clientId, caller.grantId ?? null, caller.issuedAt];

/** @throws {ApiError} HOOK00001 */
async function expectRoom(tx: Transaction, caller: Caller, facilityIds: readonly string[]): Promise<void> {
  const owner = ownerOf(caller);
  const [, full] = await Promise.all([
    query(tx, statements.lockOwner, [owner]),
    query<{ facilityId: string }>(tx, statements.findFull, [owner, facilityIds]),
  ]);
  const names = full.map(({ facilityId }) => facilityId).join(', ');
  if (full.length > 0)
    throw apiError('HOOK00001', { moreInfo: `at most ${maxWebhooksAtFacility} webhooks at a facility: ${names}` });
}

/** The number of the latest change of each facility. */
export type LatestNumbers = ReadonlyMap<string, number>;

export type WebhookStore = ReturnType<typeof createWebhookStore>;

export function createWebhookStore(db: Database) {
  return {
    /**
     * Registers a webhook. For each facility, the webhook receives the changes whose numbers are higher than the number
     * in `latest`. `response` is given if the request had an Idempotency-Key and is then stored.
     * @throws {ApiError} HOOK00001 if the owner has too many webhooks
     */
    create: (
      webhook: Webhook,
      encryptedSecret: string,
      caller: Caller,
      latest: LatestNumbers,
      response?: NewResponse,
    ): Promise<void> => {
      const { id, url, events, facilityIds, description, state, createdAt, owner, createdBy } = webhook;
      return transaction(db, async (tx) => {
        // A response is stored with only one facility, here the first one of the webhook. The others need not be
        // stored: before write.ts returns the response again, it checks that the token names all facilities of the
        // webhook.
        const [facilityId = ''] = facilityIds;
        await storeResponse(tx, response, { facilityId, createdAt });
        await expectRoom(tx, caller, facilityIds);
        const values = [id, url, events, facilityIds, description, state, encryptedSecret, createdAt];
        send(tx, statements.insert, [...values, owner, createdBy, ...rightsOf(caller)]);
        addCursors(tx, id, latest);
      });
    },

    list: (caller: Caller, page: PageRequest) =>
      queryPage<Webhook>(db, pageOfOwner, [ownerOf(caller), caller.facilities], page),

    find: async (caller: Caller, id: string): Promise<Webhook | undefined> => {
      const values = [ownerOf(caller), caller.facilities, id];
      return queryOne<Webhook>(db, statements.find, values);
    },

    listOfFacility: (facilityId: string, page: PageRequest) =>
      queryPage<FacilityWebhook>(db, pageOfFacility, [facilityId], page),

    /**
     * Changes the webhook. Returns undefined if the webhook was deleted. `check` gets the webhook before the change. If
     * `check` throws an error, nothing is changed.
     *
     * `latest` has at least the facilities that `change` adds.
     *
     * If `change` adds a facility, the webhook receives only the booking changes of this facility whose change numbers
     * are higher than its number in `latest`. If `change` enables a disabled webhook, the same rule applies to all its
     * facilities.
     */
    update: (
      id: string,
      change: WebhookChange,
      caller: Caller,
      { latest, at, check }: { latest: LatestNumbers; at: Date; check: (before: Webhook) => void },
    ): Promise<Webhook | undefined> =>
      transaction(db, async (tx) => {
        if (change.facilityIds) send(tx, statements.lockOwner, [ownerOf(caller)]);
        const before = await queryOne<Webhook>(tx, statements.lock, [id]);
        if (!before) return undefined;
        check(before);
        const { facilityIds = before.facilityIds, state = null } = change;
        const added = facilityIds.filter((facilityId) => !before.facilityIds.includes(facilityId));
        if (added.length > 0) await expectRoom(tx, caller, added);
        const { url = before.url, events = before.events, description = before.description } = change;
        const values = [id, url, events, facilityIds, description, state, at.toISOString()];
        const updated = query<Webhook>(tx, statements.update, [...values, ...rightsOf(caller)]);
        removeCursors(tx, id, facilityIds);
        failDeliveries(tx, id, facilityIds);
        // Another request may have removed a facility of `latest` meanwhile.
        const numbers = new Map([...latest].filter(([facilityId]) => facilityIds.includes(facilityId)));
        if (before.state === 'disabled' && state !== null) resetCursors(tx, id, numbers);
        addCursors(tx, id, numbers);
        return (await updated)[0];
      }),

    /**
     * Removes the facilities from the webhook and deletes a webhook that keeps none. Returns the webhook before, or
     * undefined if it was already deleted. If `check` throws an error, the webhook does not change.
     */
    removeFacilities: (id: string, facilityIds: readonly string[], check: (webhook: Webhook) => void) =>
      transaction(db, async (tx) => {
        const webhook = await queryOne<Webhook>(tx, statements.lock, [id]);
        if (!webhook) return undefined;
        check(webhook);
        removeLostFacilities(
          tx,
          facilityIds.map((facilityId) => ({ webhookId: id, facilityId })),
        );
        return webhook;
      }),

    /**
     * `response` is given if the request had an Idempotency-Key and is then stored.
     * @throws {ApiError} 404 if the webhook was deleted
     */
    rotate: (
      { id, facilityIds: [facilityId = ''], lastUpdatedAt: at }: Webhook,
      encryptedSecret: string,
      caller: Caller,
      previousUntil: Date,
      response?: NewResponse,
    ): Promise<void> =>
      transaction(db, async (tx) => {
        await storeResponse(tx, response, { facilityId, createdAt: at });
        const values = [id, encryptedSecret, previousUntil.toISOString(), at, ...rightsOf(caller)];
        if ((await query(tx, statements.rotate, values)).length === 0) throw apiError('ERR00404');
      }),

    /** Finds secrets that were not encrypted with the current key, of webhooks with ids after `after`. */
    findOldSecrets: (currentPrefix: string, after: string, limit: number) =>
      query<StoredSecrets>(db, statements.findOldSecrets, [currentPrefix, after, limit]),

    /** Replaces the secrets of a webhook, unless they have been rotated in the meantime. */
    replaceSecrets: async (old: StoredSecrets, secret: string, previousSecret: string | null): Promise<void> => {
      await query(db, statements.replaceSecrets, [old.id, old.secret, secret, old.previousSecret, previousSecret]);
    },
  };
}
