// Derives the types of requests and responses from `operations`, the generated types of the OpenAPI document.
import type { operations } from './generated/bookings-api.ts';

/** The OpenAPI document also describes the requests that the service sends to webhooks. A client cannot send them. */
export type OperationId = Exclude<keyof operations, `receive${string}`>;

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: `/api/${string}`;
  /** Whether the endpoint recognises a repeated request by its Idempotency-Key. */
  readonly acceptsIdempotencyKey?: true;
}

type ParametersOf<Id extends OperationId> = operations[Id]['parameters'];
type JsonOf<Content> = Content extends { content: { 'application/json': infer Json } } ? Json : undefined;
type SuccessStatus = 200 | 201 | 202 | 204 | 304;
type SuccessOf<Responses> = JsonOf<Responses[keyof Responses & SuccessStatus]>;

export type QueryOf<Id extends OperationId> = NonNullable<ParametersOf<Id>['query']>;

/** `undefined` stands for a response without a body (202, 204, 304). */
export type ResultOf<Id extends OperationId> = SuccessOf<operations[Id]['responses']>;

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** The maximum duration of one attempt. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
}

// Each of these types adds one part of a request. `unknown` adds nothing.
type PathPart<Id extends OperationId> =
  ParametersOf<Id> extends { path: infer Path } ? { readonly path: Path } : unknown;
type QueryPart<Id extends OperationId> =
  ParametersOf<Id> extends { query: infer Query } ? { readonly query: Query } : { readonly query?: QueryOf<Id> };
type BodyPart<Id extends OperationId> = operations[Id] extends { requestBody: infer Body }
  ? { readonly body: JsonOf<Body> }
  : unknown;

export type RequestOf<Id extends OperationId> = RequestOptions & {
  readonly headers?: Readonly<Record<string, string>>;
  /** Used only for endpoints that accept an Idempotency-Key. Default: a new key for every call. */
  readonly idempotencyKey?: string | undefined;
} & PathPart<Id> &
  QueryPart<Id> &
  BodyPart<Id>;

export interface ApiResponse<Result> {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Result;
}

/** Sends a request with an access token to one endpoint and repeats it after temporary failures. */
export type Send = <Id extends OperationId>(
  operation: Id,
  request: RequestOf<Id>,
) => Promise<ApiResponse<ResultOf<Id>>>;
