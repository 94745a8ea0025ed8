// What is an endpoint? One description as data, from which requests are validated, answers are checked in tests and the OpenAPI
// document is made: authorize → validate → handle → send. Whoever serves it (Express, a test) brings the rest.
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ValidationError } from './validation.ts';

export type Schema = Readonly<Record<string, unknown>>;
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Of a header, or of a parameter in the path. */
export interface ValueDescription {
  readonly description: string;
  readonly schema: Schema;
  readonly example?: string;
}

export interface EndpointResponse {
  readonly status: number;
  /** A value to be written as JSON, or JSON already written. */
  readonly body?: unknown;
  readonly json?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface EndpointRequest<Query, Body, Caller> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** What validation found; empty unless the endpoint says `reportsValidationErrors`. */
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

/** An endpoint whose types have been forgotten, as the router and the document see it. */
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
  /** `optional`: a body is read only if the query lacks one of the body's properties. */
  readonly bodyUse?: 'required' | 'optional';
  readonly success: SuccessDescription;
  readonly notModified?: boolean;
  /** Codes of the catalogue, beside those that every endpoint shares. */
  readonly problems: readonly string[];
  /** What `contextData` holds where the server knows nothing better. */
  readonly errorContext?: Readonly<Record<string, unknown>>;
  /** The handler gets the valid fields and the validation errors, to report them with what it finds itself. */
  readonly reportsValidationErrors?: boolean;
  readonly handle: (request: EndpointRequest<never, never, Caller>) => Promise<EndpointResponse>;
}

type Read<S> = S extends JSONSchema ? FromSchema<S> : Record<string, never>;

type Described<Q, B, Caller> = Omit<Endpoint<Caller>, 'query' | 'body' | 'handle'> & {
  readonly query?: Q;
  readonly body?: B;
  readonly handle: (
    request: EndpointRequest<
      Q extends Schema ? Partial<Read<Q>> : unknown,
      B extends Schema ? Partial<Read<B>> : unknown,
      Caller
    >,
  ) => Promise<EndpointResponse>;
};

/** Gives `handle` the types of the schemas. Fields are partial where the endpoint reports validation errors itself. */
export function endpoint<Caller>() {
  return <const Q extends Schema | undefined = undefined, const B extends Schema | undefined = undefined>(
    description: Described<Q, B, Caller>,
  ): Endpoint<Caller> => description as unknown as Endpoint<Caller>;
}
