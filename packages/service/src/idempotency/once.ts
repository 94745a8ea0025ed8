// Handles the header Idempotency-Key: a repeated request gets the stored response of the first one.
import { createHash } from 'node:crypto';
import type { EndpointRequest, EndpointResponse } from '@bay-booking/common/endpoint';
import type { ApiError, ErrorOptions } from '@bay-booking/common/errors';
import {
  type IdempotencyStore,
  KeyConflict,
  type KeyedRequest,
  type NewResponse,
  type StoredResponse,
} from './store.ts';

export interface OnceOptions {
  readonly idempotency: Pick<IdempotencyStore, 'find'>;
  readonly now: Date;
  readonly errors: {
    readonly apiError: (code: 'ERR00409' | 'ERR00422', options?: ErrorOptions) => ApiError;
    readonly unavailable: (cause: unknown) => ApiError;
  };
  /** The `contextData` of errors. */
  readonly context?: Readonly<Record<string, unknown>>;
  readonly readStored: (stored: StoredResponse, keyId: string) => EndpointResponse;
}

/**
 * Does the work of a request, or returns the stored response to an earlier request with the same key. `work` must store
 * its response (`storeResponse`) in its transaction.
 */
export async function once(
  keyed: KeyedRequest | undefined,
  { idempotency, now, errors, context = {}, readStored }: OnceOptions,
  work: () => Promise<EndpointResponse>,
): Promise<EndpointResponse> {
  async function findStored(): Promise<EndpointResponse | undefined> {
    const stored = keyed && (await idempotency.find(keyed.id, now));
    if (!stored) return undefined;
    if (stored.requestHash !== keyed.requestHash) throw errors.apiError('ERR00422', { context });
    const response = readStored(stored, keyed.id);
    return { ...response, headers: { ...response.headers, 'Idempotency-Replayed': 'true' } };
  }

  const stored = await findStored();
  if (stored) return stored;
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof KeyConflict)) throw error;
    if (error.isInProgress) throw errors.apiError('ERR00409', { context, headers: { 'Retry-After': '1' } });
    const first = await findStored();
    if (first) return first;
    throw errors.unavailable(new Error('a stored response was deleted while it was looked up'));
  }
}

type Request = EndpointRequest<unknown, unknown, { readonly clientId: string; readonly subject?: string | null }>;

/** The hash of an invalid request differs from every stored hash. */
export function keyedRequest(request: Omit<Request, 'header' | 'params' | 'requestId'>): KeyedRequest | undefined {
  const { path, body, bodyHash, validationErrors, idempotencyKey, caller } = request;
  if (idempotencyKey === undefined) return undefined;
  const { clientId, subject = clientId } = caller;
  return {
    id: hash(JSON.stringify([clientId, subject, idempotencyKey])),
    requestHash:
      validationErrors.length > 0 ? 'invalid' : hash(JSON.stringify([path, bodyHash ?? body], withSortedFields)),
  };
}

export function newResponse(request: KeyedRequest, response: EndpointResponse): NewResponse {
  return { ...request, response: JSON.stringify(response) };
}

const hash = (content: string): string => createHash('sha256').update(content).digest('base64url');

function withSortedFields(_name: string, value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
