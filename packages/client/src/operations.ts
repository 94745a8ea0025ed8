// Lists every endpoint of the OpenAPI document, and derives the types of its requests and responses.
import type { operations } from './generated/bookings-api.ts';

export type OperationId = keyof operations;

interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: `/api/${string}`;
  /** Whether the endpoint recognises a repeated request by its Idempotency-Key. */
  readonly acceptsIdempotencyKey?: true;
}

export const operationsById: Readonly<Record<OperationId, Operation>> = {
  createBooking: { method: 'POST', path: '/api/bookings', acceptsIdempotencyKey: true },
  searchBookings: { method: 'GET', path: '/api/bookings' },
  getBooking: { method: 'GET', path: '/api/bookings/{id}' },
  updateBooking: { method: 'PUT', path: '/api/bookings/{id}' },
  deleteBooking: { method: 'DELETE', path: '/api/bookings/{id}' },
  listUpcomingBookings: { method: 'GET', path: '/api/bays/{id}/upcoming-bookings' },
  listBookingChanges: { method: 'GET', path: '/api/booking-changes' },
  listBookingLocations: { method: 'GET', path: '/api/booking-locations' },
  getBookingLocation: { method: 'GET', path: '/api/booking-locations/{id}' },
  listBookingBays: { method: 'GET', path: '/api/booking-bays' },
  getOpeningHours: { method: 'GET', path: '/api/booking-locations/{id}/opening-hours' },
  setOpeningHours: { method: 'PUT', path: '/api/booking-locations/{id}/opening-hours' },
  deleteOpeningHours: { method: 'DELETE', path: '/api/booking-locations/{id}/opening-hours' },
  createClosure: { method: 'POST', path: '/api/booking-closures', acceptsIdempotencyKey: true },
  listClosures: { method: 'GET', path: '/api/booking-closures' },
  getClosure: { method: 'GET', path: '/api/booking-closures/{id}' },
  updateClosure: { method: 'PUT', path: '/api/booking-closures/{id}' },
  deleteClosure: { method: 'DELETE', path: '/api/booking-closures/{id}' },
  getAvailability: { method: 'GET', path: '/api/booking-availability' },
  createHold: { method: 'POST', path: '/api/booking-holds', acceptsIdempotencyKey: true },
  getHold: { method: 'GET', path: '/api/booking-holds/{id}' },
  extendHold: { method: 'PUT', path: '/api/booking-holds/{id}' },
  deleteHold: { method: 'DELETE', path: '/api/booking-holds/{id}' },
  createWebhook: { method: 'POST', path: '/api/webhooks', acceptsIdempotencyKey: true },
  listWebhooks: { method: 'GET', path: '/api/webhooks' },
  getWebhook: { method: 'GET', path: '/api/webhooks/{id}' },
  updateWebhook: { method: 'PUT', path: '/api/webhooks/{id}' },
  deleteWebhook: { method: 'DELETE', path: '/api/webhooks/{id}' },
  rotateWebhookSecret: { method: 'POST', path: '/api/webhooks/{id}/rotate' },
  pingWebhook: { method: 'POST', path: '/api/webhooks/{id}/ping' },
  replayWebhook: { method: 'POST', path: '/api/webhooks/{id}/replay' },
  listWebhookDeliveries: { method: 'GET', path: '/api/webhooks/{id}/deliveries' },
};

type Parameters<Id extends OperationId> = operations[Id]['parameters'];
type JsonOf<Content> = Content extends { content: { 'application/json': infer Json } } ? Json : undefined;
type SuccessOf<Responses> = JsonOf<Responses[keyof Responses & (200 | 201 | 202 | 204 | 304)]>;

export type QueryOf<Id extends OperationId> = NonNullable<Parameters<Id>['query']>;
export type BodyOf<Id extends OperationId> = JsonOf<NonNullable<operations[Id]['requestBody']>>;

/** The type of the JSON in a successful response. `undefined` stands for a response without a body (202, 204, 304). */
export type ResultOf<Id extends OperationId> = SuccessOf<operations[Id]['responses']>;

/** The options that every request accepts. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** The maximum duration of one attempt in milliseconds. Default: `timeoutMs` of the client. */
  readonly timeoutMs?: number | undefined;
}

/** The path parameters, query and body of an endpoint, with the types of the OpenAPI document. */
export type RequestOf<Id extends OperationId> = RequestOptions & {
  readonly headers?: Readonly<Record<string, string>>;
  /** Used only for endpoints that accept an Idempotency-Key. Default: a new key for every call. */
  readonly idempotencyKey?: string | undefined;
} & (Parameters<Id> extends { path: infer Path } ? { readonly path: Path } : unknown) &
  (Parameters<Id> extends { query: infer Query } ? { readonly query: Query } : { readonly query?: QueryOf<Id> }) &
  (operations[Id] extends { requestBody: infer Body } ? { readonly body: JsonOf<Body> } : unknown);

export interface ApiResponse<Result> {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Result;
}

/** Sends a request with an access token to one endpoint, and repeats it after temporary failures. */
export type Send = <Id extends OperationId>(
  operation: Id,
  request: RequestOf<Id>,
) => Promise<ApiResponse<ResultOf<Id>>>;
