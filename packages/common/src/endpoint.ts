// Defines the description of an HTTP endpoint: its method, path, schemas, documentation and handler.
//
// The description has three uses. The router validates requests with its schemas, the OpenAPI document is generated
// from it, and the tests check responses against this document. The module does not depend on an HTTP framework.
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ValidationError } from './validation.ts';

export type Schema = Readonly<Record<string, unknown>>;
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Describes a header or a path parameter. */
export interface ValueDescription {
  readonly description: string;
  readonly schema: Schema;
  readonly example?: string;
}

export interface EndpointResponse {
  readonly status: number;
  /** A value that is sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface EndpointRequest<Query, Body, Caller> {
  /** The values of the path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Always empty unless the endpoint sets `handlesValidationErrors`. */
  readonly validationErrors: readonly ValidationError[];
  readonly header: (name: string) => string | undefined;
  readonly caller: Caller;
  /** The id of the request in the log and in the header `X-Request-Id`. */
  readonly requestId: string;
}

export interface SuccessDescription {
  readonly status: number;
  readonly description: string;
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly headers?: Readonly<Record<string, ValueDescription>>;
}

/**
 * An endpoint without the TypeScript types of its query and body. The router and the generator of the OpenAPI document
 * do not need these types.
 */
export interface Endpoint<Caller = unknown> {
  readonly operationId: string;
  /**
   * The function of packages/client that calls this endpoint, such as `bookings.create`. The TypeScript example in the
   * OpenAPI document shows a call of this function. Default: `request`, which can call every endpoint.
   */
  readonly clientFunction?: string;
  readonly method: Method;
  /** A template such as `/api/bookings/{id}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly params?: Readonly<Record<string, ValueDescription>>;
  /** An object schema with one property per parameter. */
  readonly query?: Schema;
  readonly queryExamples?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, ValueDescription>>;
  readonly body?: Schema;
  readonly bodyExample?: unknown;
  /**
   * Whether a request must have a body. With `optional`, a request can have the same field in the query and in the
   * body, and the query takes precedence. Default: `required`.
   */
  readonly bodyUse?: 'required' | 'optional';
  /** If an optional body is a JSON string instead of an object, the string is the value of this field. */
  readonly stringBodyField?: string;
  readonly success: SuccessDescription;
  /** Whether the endpoint can respond with 304. */
  readonly notModified?: boolean;
  /** The default `contextData` of the errors of this endpoint. */
  readonly errorContext?: Readonly<Record<string, unknown>>;
  /**
   * Whether the router calls `handle` even if the request has validation errors. `handle` then gets the valid fields
   * and the validation errors. One response can therefore report these errors and the errors that `handle` finds.
   * Without this flag, the router responds with 400.
   */
  readonly handlesValidationErrors?: boolean;
  /** `never` stands for the unknown types of the query and the body. A handler with any types can be assigned. */
  readonly handle: (request: EndpointRequest<never, never, Caller>) => Promise<EndpointResponse>;
}

type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : Record<string, never>;

type TypedEndpoint<Query, Body, Caller> = Omit<Endpoint<Caller>, 'query' | 'body' | 'handle'> & {
  readonly query?: Query;
  readonly body?: Body;
  readonly handle: (
    request: EndpointRequest<
      Query extends Schema ? Partial<TypeOf<Query>> : unknown,
      Body extends Schema ? Partial<TypeOf<Body>> : unknown,
      Caller
    >,
  ) => Promise<EndpointResponse>;
};

/**
 * Returns a function that defines one endpoint. The function derives the types of `query` and `body` in `handle` from
 * their schemas. All fields of these types are optional, because a field with a validation error is left out.
 *
 * There are two functions because TypeScript infers either all type parameters of a call or none: the caller gives
 * `Caller` to the first one, and TypeScript infers the type parameters of the second one.
 */
export function endpointDefiner<Caller>() {
  return <const Query extends Schema | undefined = undefined, const Body extends Schema | undefined = undefined>(
    endpoint: TypedEndpoint<Query, Body, Caller>,
  ): Endpoint<Caller> => endpoint as unknown as Endpoint<Caller>;
}
