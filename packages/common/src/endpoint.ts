// Describes HTTP endpoints. The router, the OpenAPI document and the tests use the descriptions.
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ValidationError } from './validation.ts';

export type Schema = Readonly<Record<string, unknown>>;
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
/** What an endpoint does, which decides the scopes that allow it. */
export type Access = 'read' | 'write' | 'schedule' | 'erase';

export interface ValueDescription {
  readonly description: string;
  readonly schema: Schema;
  readonly example?: string;
}

export interface EndpointResponse {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface EndpointRequest<Query, Body, Caller> {
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

/** An endpoint without the TypeScript types of its query and body. */
export interface Endpoint<Caller = unknown> {
  readonly operationId: string;
  /** The function of packages/client that calls this endpoint, for the example in the OpenAPI document. */
  readonly clientFunction?: string;
  readonly method: Method;
  /** A template such as `/api/bookings/{id}`. */
  readonly path: string;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly params?: Readonly<Record<string, ValueDescription>>;
  readonly query?: Schema;
  readonly queryExamples?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, ValueDescription>>;
  readonly body?: Schema;
  /** The schema of the body in the OpenAPI document, if the handler validates a part of the body itself. */
  readonly documentedBody?: Schema;
  readonly bodyExample?: unknown;
  /** The maximum size of the body in bytes. Default: 100 kB. */
  readonly bodyLimit?: number;
  /**
   * With `optional`, a field of the query takes precedence over the same field of the body. With `as sent`, the handler
   * gets the JSON object unchanged and validates it. Default: `required`.
   */
  readonly bodyUse?: 'required' | 'optional' | 'as sent';
  /** If an optional body is a JSON string instead of an object, the string is the value of this field. */
  readonly stringBodyField?: string;
  readonly success: SuccessDescription;
  /** A successful response with another status. */
  readonly otherSuccess?: SuccessDescription;
  readonly notModified?: boolean;
  /** The default `contextData` of the errors of this endpoint. */
  readonly errorContext?: Readonly<Record<string, unknown>>;
  /** If true, `handle` runs even with validation errors, and gets them together with the valid fields. */
  readonly handlesValidationErrors?: boolean;
  /** `never` stands for the unknown types of the query and the body. */
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
 * Derives the types of `query` and `body` in `handle` from their schemas. All fields are optional, because a field with
 * a validation error is left out. There are two functions, because TypeScript infers either all type parameters of a
 * call or none.
 */
export function endpointDefiner<Caller>() {
  return <const Query extends Schema | undefined = undefined, const Body extends Schema | undefined = undefined>(
    endpoint: TypedEndpoint<Query, Body, Caller>,
  ): Endpoint<Caller> => endpoint as unknown as Endpoint<Caller>;
}
