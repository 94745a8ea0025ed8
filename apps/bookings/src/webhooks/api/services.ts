// Defines what webhook handlers need and finds a webhook of an owner.
import type { MakeLink } from '@bay-booking/common/links';
import type { IdempotencyStore } from '@bay-booking/service/idempotency/store';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { SecretBox } from '@bay-booking/service/secret-box';
import type { AuditLog } from '../../audit-log.ts';
import { type Caller, type CallerRequest, isPersonalAccessToken } from '../../auth/caller.ts';
import { tokenError } from '../../auth/challenges.ts';
import type { FeedStore } from '../../changes/feed/store.ts';
import type { Config } from '../../config.ts';
import { isUuid } from '../../database/tagged-id.ts';
import { apiError } from '../../errors.ts';
import type { CursorStore } from '../delivery/cursor-store.ts';
import type { DeliveryStore } from '../delivery/delivery-store.ts';
import type { Resend } from '../delivery/resend-store.ts';
import type { Webhook } from '../webhook.ts';
import type { WebhookStore } from './store.ts';

export interface WebhookServices {
  readonly config: Pick<Config, 'baseUrl'>;
  readonly link: MakeLink;
  readonly audit: AuditLog;
  readonly now: () => Date;
  readonly store: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly cursors: CursorStore;
  readonly resend: Resend;
  readonly feed: FeedStore;
  readonly idempotency: IdempotencyStore;
  readonly secretBox: SecretBox;
  readonly outbound: OutboundClient;
  /** Makes the worker look for deliveries immediately. */
  readonly wakeWorker: () => void;
}

/**
 * @throws {ApiError} 404 if the webhook does not exist, belongs to another owner, or the token names none of its
 * facilities
 */
export async function findWebhook(
  { store }: WebhookServices,
  { params: { id = '' }, caller }: CallerRequest,
): Promise<Webhook> {
  const found = isUuid(id) ? await store.find(caller, id) : undefined;
  if (!found) throw apiError('ERR00404');
  return found;
}

/** @throws {ApiError} 403 unless the token names all facilities of the webhook */
export function expectAllFacilities(
  { config: { baseUrl } }: WebhookServices,
  { facilityIds }: Webhook,
  { facilities, scheme }: Caller,
): void {
  if (facilityIds.every((id) => facilities.includes(id))) return;
  const reason = 'The token lacks facilities of the webhook.';
  throw tokenError(baseUrl, { scheme, error: 'insufficient_scope', reason });
}

/** Returns the `createdBy` of webhooks that the caller creates. */
export const creatorOf = (caller: Caller): string | null => (isPersonalAccessToken(caller) ? null : caller.clientId);

/** @throws {ApiError} 403 unless the client has created the webhook */
export function expectCreator({ config: { baseUrl } }: WebhookServices, { createdBy }: Webhook, caller: Caller): void {
  if (creatorOf(caller) === createdBy) return;
  const creator = createdBy === null ? 'personal access tokens of its account' : 'the client that registered it';
  throw tokenError(baseUrl, {
    scheme: caller.scheme,
    forbidden: `Only ${creator} can rotate the secret of the webhook or change its URL.`,
    reason: 'Register another webhook, and delete this one.',
  });
}
