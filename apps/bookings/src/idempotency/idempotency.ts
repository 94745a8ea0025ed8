// Handles the header Idempotency-Key: a repeated request gets the stored response of the first one.
import { createHash } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { apiError, badRequest, problemOf, unavailable } from '../errors.ts';
import type { ApiRequest } from '../http/shared-services.ts';
import {
  type IdempotencyStore,
  KeyConflict,
  type KeyedRequest,
  type NewResponse,
  type StoredResponse,
} from './store.ts';

export interface CreationOptions {
  readonly idempotency: IdempotencyStore;
  readonly now: Date;
  /** The `contextData` of errors. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** Default: checks that the caller still has access to the facility of the response. */
  readonly readStored?: (stored: StoredResponse, keyId: string) => EndpointResponse;
}

/**
 * Creates a resource, or returns the stored response to an earlier request with the same key. `create` must store its
 * response if it gets a keyed request. It also gets the validation errors.
 */
export async function createOnce(
  { path, body, validationErrors, caller, idempotencyKey: key }: ApiRequest<unknown, object>,
  { idempotency, now, context = {}, readStored }: CreationOptions,
  create: (keyed: KeyedRequest | undefined, errors: readonly ValidationError[]) => Promise<EndpointResponse>,
): Promise<EndpointResponse> {
  const keyed = key === undefined ? undefined : keyedRequest(key, caller, path, validationErrors.length === 0 && body);

  async function findStored(): Promise<EndpointResponse | undefined> {
    const stored = keyed && (await idempotency.find(keyed.id, now));
    if (!stored) return undefined;
    if (stored.requestHash !== keyed.requestHash) throw apiError('ERR00422', { context });
    const response = readStored ? readStored(stored, keyed.id) : readWithAccess(stored);
    return { ...response, headers: { ...response.headers, 'Idempotency-Replayed': 'true' } };
  }

  function readWithAccess({ facilityId, response }: StoredResponse): EndpointResponse {
    if (!caller.facilities.includes(facilityId)) throw badRequest([problemOf('ERR00012', context)]);
    return JSON.parse(response) as EndpointResponse;
  }

  // Looked up before the request is validated, because the dates of a repeated request can be in the past by now.
  const stored = await findStored();
  if (stored) return stored;
  try {
    return await create(keyed, validationErrors);
  } catch (error) {
    if (!(error instanceof KeyConflict)) throw error;
    if (error.isInProgress) throw apiError('ERR00409', { context, headers: { 'Retry-After': '1' } });
    const first = await findStored();
    if (first) return first;
    throw unavailable(new Error('a stored response was deleted while it was looked up'));
  }
}

/** `body` is false if the request is invalid. Its hash then differs from every stored hash. */
function keyedRequest(key: string, { clientId, subject }: Caller, path: string, body: object | false): KeyedRequest {
  return { id: hash([clientId, subject, key]), requestHash: body ? hash([path, body]) : 'invalid' };
}

export function newResponse(request: KeyedRequest, response: EndpointResponse): NewResponse {
  return { ...request, response: JSON.stringify(response) };
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value, withSortedFields)).digest('base64url');
}

function withSortedFields(_name: string, value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
