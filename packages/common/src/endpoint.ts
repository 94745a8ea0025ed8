// An HTTP endpoint as data: its method, path, schemas, documentation and handler.
//
// One description serves three purposes. The router validates requests by it, the OpenAPI document is generated from
// it, and the tests check responses against that document. This module does not depend on an HTTP framework.
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
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Always empty unless the endpoint sets `reportsValidationErrors`. */
  readonly validationErrors: readonly ValidationError[];
  readonly header: (name: string) => string | undefined;
  readonly caller: Caller;
}

export interface SuccessDescription {
  readonly status: number;
  readonly description: string;
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly headers?: Readonly<Record<string, ValueDescription>>;
}

/** An endpoint as the router and the OpenAPI document see it, without the types of its query and body. */
export interface Endpoint<Caller = unknown> {
  readonly operationId: string;
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
  /** `optional`: a request needs no body, and a field of the query takes precedence. Default: `required`. */
  readonly bodyUse?: 'required' | 'optional';
  /** The field that a body stands for if it is a JSON string instead of an object. Only for an optional body. */
  readonly stringBodyField?: string;
  readonly success: SuccessDescription;
  /** Whether the endpoint can respond with 304. */
  readonly notModified?: boolean;
  /** Error codes of this endpoint. The codes that all endpoints share are not listed. */
  readonly errorCodes: readonly string[];
  /** `contextData` of an error whose handler provides none. */
  readonly errorContext?: Readonly<Record<string, unknown>>;
  /**
   * The router calls `handle` even if the request has validation errors. `handle` gets the valid fields and the
   * validation errors, so that one response can report them together with the errors that `handle` finds. Without this
   * flag the router responds with 400.
   */
  readonly reportsValidationErrors?: boolean;
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
 * Returns a function that defines one endpoint. It derives the types of `query` and `body` in `handle` from their
 * schemas. All fields are optional there, because a field with a validation error is left out. Two steps are needed
 * because TypeScript infers either all type parameters of a call or none.
 */
export function endpointDefiner<Caller>() {
  return <const Query extends Schema | undefined = undefined, const Body extends Schema | undefined = undefined>(
    endpoint: TypedEndpoint<Query, Body, Caller>,
  ): Endpoint<Caller> => endpoint as unknown as Endpoint<Caller>;
}
