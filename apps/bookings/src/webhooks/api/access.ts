// Decides which webhooks a token may see, and which of them it may change.
import { type Caller, type CallerRequest, isPersonalAccessToken } from '../../auth/caller.ts';
import { tokenError } from '../../auth/challenges.ts';
import { isUuid } from '../../database/tagged-id.ts';
import { apiError } from '../../errors.ts';
import { namesAllFacilities, type Webhook } from '../webhook.ts';
import type { WebhookStore } from './store.ts';

/**
 * @throws {ApiError} 404 if the webhook does not exist, belongs to another owner, or the token names none of its
 * facilities
 */
export async function findWebhook(store: Pick<WebhookStore, 'find'>, { params: { id = '' }, caller }: CallerRequest) {
  const found = isUuid(id) ? await store.find(caller, id) : undefined;
  if (!found) throw apiError('ERR00404');
  return found;
}

/** @throws {ApiError} 403 unless the token names all facilities of the webhook */
export function expectAllFacilities(webhook: Webhook, caller: Caller, baseUrl: string): void {
  if (namesAllFacilities(caller, webhook)) return;
  const reason = 'The token lacks facilities of the webhook.';
  throw tokenError(baseUrl, { scheme: caller.scheme, error: 'insufficient_scope', reason });
}

/** Returns the `createdBy` of webhooks that the caller creates. */
export const creatorOf = (caller: Caller): string | null => (isPersonalAccessToken(caller) ? null : caller.clientId);

/** @throws {ApiError} 403 unless the client has created the webhook */
export function expectCreator({ createdBy }: Webhook, caller: Caller, baseUrl: string): void {
  if (creatorOf(caller) === createdBy) return;
  const creator = createdBy === null ? 'personal access tokens of its account' : 'the client that registered it';
  throw tokenError(baseUrl, {
    scheme: caller.scheme,
    forbidden: `Only ${creator} can rotate the secret of the webhook or change its URL.`,
    reason: 'Register another webhook, and delete this one.',
  });
}
