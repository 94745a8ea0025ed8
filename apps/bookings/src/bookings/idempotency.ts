// Handles the header Idempotency-Key: a repeated request gets the stored response of the first one.
import { createHash } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { apiError, badRequest, problemOf } from '../errors.ts';
import type { IdempotencyStore, KeyedRequest, NewResponse } from './storage/idempotency-store.ts';
import type { ErrorContext } from './validation.ts';

const keyPattern = /^[\x21-\x7e]{1,255}$/;

export function findKeyErrors(key: string | undefined): readonly ValidationError[] {
  if (key === undefined || keyPattern.test(key)) return [];
  return [{ field: 'Idempotency-Key', kind: 'invalid', hint: '1 to 255 visible ASCII characters' }];
}

/**
 * `body` is undefined if the request is invalid. Responses to invalid requests are not stored, so the hash of such a
 * request must differ from every stored one.
 */
export function keyedRequest(key: string, caller: Caller, body: object | undefined): KeyedRequest {
  return {
    id: hash([caller.clientId, caller.subject, key]),
    requestHash: body ? hash(Object.entries(body).sort()) : 'invalid',
  };
}

/**
 * The stored response to an earlier request with the same key. It is repeated unchanged, even if the booking was
 * changed or deleted since.
 *
 * @throws {ApiError} 422 if the earlier request had another body
 */
export async function findStoredResponse(
  { id, requestHash }: KeyedRequest,
  store: Pick<IdempotencyStore, 'find'>,
  { caller, context, now }: { readonly caller: Caller; readonly context: ErrorContext; readonly now: Date },
): Promise<EndpointResponse | undefined> {
  const stored = await store.find(id, now);
  if (!stored) return undefined;
  if (stored.requestHash !== requestHash) throw apiError('ERR00422', { context });
  // The client may have lost access to the facility since then. The response must not reveal the booking.
  if (!caller.facilities.includes(stored.facilityId)) throw badRequest([problemOf('ERR00012', context)]);
  const first = JSON.parse(stored.response) as EndpointResponse;
  return { ...first, headers: { ...first.headers, 'Idempotency-Replayed': 'true' } };
}

export function newResponse(request: KeyedRequest, response: EndpointResponse): NewResponse {
  return { ...request, response: JSON.stringify(response) };
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}
