// Reads and validates the query, the body and the Idempotency-Key of a request to an endpoint.
import type { Endpoint, EndpointRequest, Schema } from '@bay-booking/common/endpoint';
import type { ApiErrors } from '@bay-booking/common/errors';
import { findUnknownParameters, readQueryString } from '@bay-booking/common/query-string';
import {
  atPointer,
  createCompiler,
  createValidator,
  type Formats,
  pointerErrorsOf,
  type Validate,
  type ValidationError,
} from '@bay-booking/common/validation';
import type { Request, Response } from 'express';
import { contentHash } from '../etag.ts';
import { rawBody, readJsonObject, readOptionalBody, withoutEmptyTexts } from '../request-body.ts';
import { findUnknownFields, findUnknownFieldsInside } from './preferences.ts';

export interface InputOptions {
  readonly errors: ApiErrors;
  readonly formats: Formats;
  /**
   * `strict`: unknown fields are errors, null and an empty string are values, and positions are JSON Pointers.
   * `lenient`: null and an empty string count as left out, and unknown fields are errors only if the client prefers it.
   */
  readonly reading: 'strict' | 'lenient';
}

type Fields = Readonly<Record<string, unknown>>;
type Input = Pick<
  EndpointRequest<unknown, unknown, unknown>,
  'query' | 'body' | 'validationErrors' | 'idempotencyKey' | 'bodyHash'
>;
type ReadInput = (request: Request, response: Response, rejectsUnknown: boolean) => Promise<Input>;

const noFields: Schema = { type: 'object' };
const noInput: Input = { query: {}, body: {}, validationErrors: [], idempotencyKey: undefined };
const keyPattern = /^[\x21-\x7e]{1,255}$/;
const keyHint = '1 to 255 visible ASCII characters';

/** Returns a function that creates the reader of an endpoint. */
export function createInputReaders({ errors, formats, reading }: InputOptions) {
  const isStrict = reading === 'strict';
  const compile = isStrict ? createStrictValidator(formats) : createValidator(formats);
  const keyError: ValidationError = isStrict
    ? atPointer('/Idempotency-Key', 'invalid', keyHint)
    : { field: 'Idempotency-Key', kind: 'invalid', hint: keyHint };

  return (endpoint: Endpoint<never>): ReadInput => {
    const { query: querySchema = noFields, body: bodySchema = noFields, bodyUse, bodyLimit, headers = {} } = endpoint;
    const queryProperties = propertiesOf(querySchema);
    const knownFields = new Set([
      ...Object.keys(propertiesOf(bodySchema)),
      ...(endpoint.method === 'GET' ? [] : fieldsOfResource(endpoint.success.schema)),
    ]);
    const unknownFieldsOf = (body: Fields): readonly ValidationError[] => [
      ...findUnknownFields(Object.keys(body), knownFields),
      ...Object.entries(propertiesOf(bodySchema)).flatMap(([field, schema]) =>
        findUnknownFieldsInside(schema, Object.hasOwn(body, field) ? body[field] : undefined, field),
      ),
    ];
    const textsThatMayBeEmpty = Object.entries(propertiesOf(bodySchema)).flatMap(([name, { minLength }]) =>
      minLength === 0 ? [name] : [],
    );
    const hasKey = 'Idempotency-Key' in headers;
    const validateQuery = compile(querySchema);
    const readRawBody = rawBody(bodyLimit, { inflate: !isStrict });
    const validateBody = bodyUse === 'as sent' ? undefined : compile(bodySchema);

    async function readBody(request: Request, response: Response): Promise<Fields> {
      if (!endpoint.body) return {};
      const { apiError } = errors;
      if (bodyUse === 'optional')
        return readOptionalBody(request, response, readRawBody, apiError, endpoint.stringBodyField);
      const fields = await readJsonObject(request, response, readRawBody, apiError);
      return isStrict || bodyUse === 'as sent' ? fields : withoutEmptyTexts(fields, textsThatMayBeEmpty);
    }

    return async (request, response, rejectsUnknown) => {
      if (!endpoint.query && !endpoint.body && !hasKey && !rejectsUnknown) return noInput;
      const queryString = queryStringOf(request.url);
      const queryInput = readQueryString(queryString, queryProperties);
      const query = validateQuery(queryInput);
      const bodyInput = await readBody(request, response);
      const body = validateBody?.(withoutFieldsOfQuery(bodyInput, queryInput)) ?? {
        value: bodyInput,
        validationErrors: [],
      };
      const unknownParameters = rejectsUnknown ? findUnknownParameters(queryString, queryProperties) : [];
      const key = hasKey ? request.get('idempotency-key') : undefined;
      const isKeyValid = key === undefined || keyPattern.test(key);
      const validationErrors = [
        ...(isStrict
          ? [
              ...query.validationErrors,
              ...unknownParameters.map((name) => atPointer(`/${name}`, 'unknown', 'is not known')),
              ...body.validationErrors,
            ]
          : [
              ...errorsOfParameters(query.validationErrors),
              ...body.validationErrors,
              ...findUnknownFields(unknownParameters, new Set()),
              ...(rejectsUnknown ? unknownFieldsOf(bodyInput) : []),
            ]),
        ...(isKeyValid ? [] : [keyError]),
      ];
      const idempotencyKey = isKeyValid ? key : undefined;
      // A file of 10 MB, sorted and written again, would stop other requests for a second.
      const bodyHash = idempotencyKey && bodyUse === 'as sent' && { bodyHash: contentHash(request.body as Buffer) };
      return { query: query.value, body: body.value, validationErrors, idempotencyKey, ...bodyHash };
    };
  };
}

function createStrictValidator(formats: Formats): (schema: object) => Validate {
  const compile = createCompiler(formats);
  return (schema) => {
    const check = compile(schema);
    return (value) => ({ value, validationErrors: pointerErrorsOf(check(value)) });
  };
}

/** The query takes precedence over the body. */
function withoutFieldsOfQuery(
  body: Readonly<Record<string, unknown>>,
  query: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !Object.hasOwn(query, name)));
}

/** Several elements of a parameter can be invalid. Their positions mean nothing to the client. */
function errorsOfParameters(errors: readonly ValidationError[]): readonly ValidationError[] {
  const firstOf = [...Map.groupBy(errors, ({ field }) => field).values()].flatMap((ofField) => ofField.slice(0, 1));
  return firstOf.map(({ field, kind, hint }) => ({ field, kind, hint }));
}

/** A client may send back the resource that GET returned. Other responses have no links. */
function fieldsOfResource({ properties = {}, anyOf = [] }: Schema = {}): readonly string[] {
  const own = Object.keys(properties as object);
  return [...(own.includes('_links') ? own : []), ...(anyOf as readonly Schema[]).flatMap(fieldsOfResource)];
}

function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return (schema.properties as Record<string, Schema> | undefined) ?? {};
}

function queryStringOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}
