// Describes HTTP endpoints for the router, the OpenAPI document and the tests.
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { Access } from './scopes.ts';
import type { ValidationError } from './validation.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** Gives a schema a name in the OpenAPI document, for generated clients. */
export const named = <const T extends object>(title: string, schema: T) => ({ title, ...schema });

/** The schema of an object in a response. */
export function responseSchema<const Properties extends object, Optional extends keyof Properties = never>(
  properties: Properties,
  optional: readonly Optional[] = [],
) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name as Optional));
  type Name = Exclude<keyof Properties, Optional>;
  return { type: 'object', required: required as Name[], additionalProperties: false, properties } as const;
}

/** The schema of an object in a response that has a name in the OpenAPI document. */
export const namedSchema = <const Properties extends object, Optional extends keyof Properties = never>(
  title: string,
  properties: Properties,
  optional: readonly Optional[] = [],
) => named(title, responseSchema(properties, optional));

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface ValueDescription {
  readonly description: string;
  readonly schema: Schema;
  readonly example?: string;
}

export interface EndpointResponse {
  readonly status: number;
  readonly body?: unknown;
  /** The body as JSON, instead of `body`. */
  readonly bodyText?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What a dry run says that the request would do. Default: `delete` for DELETE, otherwise `update`. */
  readonly action?: string;
}

export interface EndpointRequest<Query, Body, Caller> {
  /** The path of the URL. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The known parameters as texts, for links that repeat them. */
  readonly sentQuery: Readonly<Record<string, unknown>>;
  readonly body: Body;
  /** Always empty unless the endpoint sets `handlesValidationErrors`. */
  readonly validationErrors: readonly ValidationError[];
  /** Undefined unless the endpoint has the header, and the key is valid. */
  readonly idempotencyKey: string | undefined;
  /** Only of a body that the handler gets as sent, if there is a key. */
  readonly bodyHash?: string;
  readonly header: (name: string) => string | undefined;
  readonly caller: Caller;
  /** Also in the log and in the header `X-Request-Id`. */
  readonly requestId: string;
}

export interface SuccessDescription {
  readonly status: number;
  readonly description: string;
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly headers?: Readonly<Record<string, ValueDescription>>;
}

/** An endpoint whose query and body types are not known to TypeScript. */
export interface Endpoint<Caller = unknown> {
  readonly operationId: string;
  readonly method: Method;
  /** A template such as `/api/bookings/{id}`. */
  readonly path: string;
  /** Decides which scopes allow the endpoint. */
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly params?: Readonly<Record<string, ValueDescription>>;
  readonly query?: Schema;
  readonly queryExamples?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, ValueDescription>>;
  readonly body?: Schema;
  /** The body's schema in the OpenAPI document, if the handler validates a part of the body itself. */
  readonly documentedBody?: Schema;
  readonly bodyExample?: unknown;
  /** Default: 100 kB. */
  readonly bodyLimit?: number;
  /**
   * `optional`: a query field takes precedence over the same body field. `as sent`: the handler gets the JSON object
   * unchanged and validates it. Default: `required`.
   */
  readonly bodyUse?: 'required' | 'optional' | 'as sent';
  /** If an optional body is a JSON string, the string is the value of this field. */
  readonly stringBodyField?: string;
  /** How long the connection may be idle. */
  readonly timeoutSeconds?: number;
  /**
   * Whether the response to a request with the parameter `dryRun` says what would be done. The handler does its work
   * and rolls it back.
   */
  readonly describesDryRun?: boolean;
  readonly success: SuccessDescription;
  /** A successful response with another status. */
  readonly otherSuccess?: SuccessDescription;
  /** The field of the response, a list of objects, that clients can also get as CSV. */
  readonly tableField?: string;
  /** The default `contextData` of this endpoint's errors. */
  readonly errorContext?: Readonly<Record<string, unknown>>;
  /** Finds the `contextData` of the error, if the body cannot be read. Default: `errorContext`. */
  readonly findErrorContext?: (
    request: Pick<EndpointRequest<unknown, unknown, Caller>, 'params' | 'caller'>,
  ) => Promise<Readonly<Record<string, unknown>>>;
  /** If true, `handle` also runs after validation errors and gets the errors and the valid fields. */
  readonly handlesValidationErrors?: boolean;
  /** `never` accepts handlers of every query and body type. */
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
 * Derives the types of `query` and `body` in `handle` from their schemas. All fields are optional, because a field that
 * has a validation error is left out. There are two functions because TypeScript infers either all type parameters of a
 * call or none.
 */
export function endpointDefiner<Caller>() {
  return <const Query extends Schema | undefined = undefined, const Body extends Schema | undefined = undefined>(
    endpoint: TypedEndpoint<Query, Body, Caller>,
  ): Endpoint<Caller> => endpoint as unknown as Endpoint<Caller>;
}
