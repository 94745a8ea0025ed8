// Handles the header Idempotency-Key: a repeated request gets the stored response of the first one.
import { createHash } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { apiError, badRequest, problemOf, unavailable } from '../errors.ts';
import type { IdempotencyStore, KeyConflict, KeyedRequest, NewResponse, StoredResponse } from './store.ts';

const keyPattern = /^[\x21-\x7e]{1,255}$/;

function findKeyErrors(key: string | undefined): readonly ValidationError[] {
  if (key === undefined || keyPattern.test(key)) return [];
  return [{ field: 'Idempotency-Key', kind: 'invalid', hint: '1 to 255 visible ASCII characters' }];
}

/** `body` is undefined if the request is invalid. Its hash then differs from every stored hash. */
function keyedRequest(key: string, caller: Caller, body: object | undefined): KeyedRequest {
  return {
    // Two clients, or two users of one client, can use the same key for different requests.
    id: hash([caller.clientId, caller.subject, key]),
    // The fields are sorted, because their order in the request does not matter.
    requestHash: body ? hash(Object.entries(body).sort()) : 'invalid',
  };
}

type ContextData = Readonly<Record<string, unknown>>;

/** @throws {ApiError} 400 if the caller has no access to the response */
export type ReadStored = (stored: StoredResponse, keyId: string) => EndpointResponse;

interface FindStoredOptions {
  readonly now: Date;
  /** The `contextData` of errors. */
  readonly context: ContextData;
  readonly readStored: ReadStored;
}

/** @throws {ApiError} 422 if the earlier request had another body; also the errors of `readStored` */
async function findStoredResponse(
  { id, requestHash }: KeyedRequest,
  store: Pick<IdempotencyStore, 'find'>,
  { now, context, readStored }: FindStoredOptions,
): Promise<EndpointResponse | undefined> {
  const stored = await store.find(id, now);
  if (!stored) return undefined;
  if (stored.requestHash !== requestHash) throw apiError('ERR00422', { context });
  const response = readStored(stored, id);
  return { ...response, headers: { ...response.headers, 'Idempotency-Replayed': 'true' } };
}

/** The caller may have lost access to the facility since the earlier request. */
function readWithAccess({ facilities }: Caller, context: ContextData): ReadStored {
  return ({ facilityId, response }) => {
    if (!facilities.includes(facilityId)) throw badRequest([problemOf('ERR00012', context)]);
    return JSON.parse(response) as EndpointResponse;
  };
}

export function newResponse(request: KeyedRequest, response: EndpointResponse): NewResponse {
  return { ...request, response: JSON.stringify(response) };
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}

export interface KeyedCreation {
  readonly idempotencyKey: string | undefined;
  readonly caller: Caller;
  /** The valid fields of the body. */
  readonly body: object;
  readonly validationErrors: readonly ValidationError[];
  readonly now: Date;
  readonly context?: ContextData;
  /** Default: checks that the caller has access to the facility of the response. */
  readonly readStored?: ReadStored;
}

/**
 * Creates a resource, or returns the stored response to an earlier request with the same key. `create` gets the
 * validation errors of the request and of the key.
 *
 * @throws {ApiError} 409 if an earlier request with the same key is in progress; 422 if it had another body; also the
 * errors of `create` and of `readStored`
 */
export async function createOnce(
  creation: KeyedCreation,
  store: Pick<IdempotencyStore, 'find'>,
  create: (
    keyed: KeyedRequest | undefined,
    validationErrors: readonly ValidationError[],
  ) => Promise<EndpointResponse | KeyConflict>,
): Promise<EndpointResponse> {
  const { idempotencyKey, caller, body, validationErrors, now, context = {} } = creation;
  const { readStored = readWithAccess(caller, context) } = creation;
  const keyErrors = findKeyErrors(idempotencyKey);
  const errors = [...validationErrors, ...keyErrors];
  const keyed =
    idempotencyKey === undefined || keyErrors.length > 0
      ? undefined
      : keyedRequest(idempotencyKey, caller, errors.length === 0 ? body : undefined);
  const findStored = async () => keyed && findStoredResponse(keyed, store, { now, context, readStored });
  // The response is looked up before `create` validates the request, because the dates of a repeated request can be in
  // the past by now.
  const stored = await findStored();
  if (stored) return stored;
  const result = await create(keyed, errors);
  if (typeof result === 'object') return result;
  if (result === 'key in progress') throw apiError('ERR00409', { context, headers: { 'Retry-After': '1' } });
  // Another request with the same key has stored its response after the first look-up.
  const first = await findStored();
  if (first) return first;
  throw unavailable(new Error('a stored response was deleted while it was looked up'));
}
