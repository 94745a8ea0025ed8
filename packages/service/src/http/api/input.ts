// Reads and validates the query, the body (docs/behaviour.md, "Request bodies") and the Idempotency-Key of a request to
// an endpoint.
import type { Endpoint, EndpointRequest, Schema } from '@bay-booking/common/endpoint';
import type { ApiErrors } from '@bay-booking/common/errors';
import { convertQuery, findUnknownParameters, parametersOf, readQueryString } from '@bay-booking/common/query-string';
import {
  atPointer,
  createPointerValidator,
  createValidator,
  type Formats,
  isObject,
  type Validate,
  type ValidationError,
} from '@bay-booking/common/validation';
import express, { type Request, type Response } from 'express';
import { contentHash } from '../etag.ts';
import { createUnknownFieldsFinder, findUnknownFields, propertiesOf } from './preferences.ts';

export interface InputOptions {
  readonly errors: ApiErrors;
  readonly formats: Formats;
  /**
   * `strict`: unknown fields are errors, null and an empty string are values, and positions are JSON Pointers.
   * `lenient`: null and an empty string count as left out, and unknown fields are errors only if the client prefers it.
   */
  readonly reading: 'strict' | 'lenient';
}

type Input = Pick<
  EndpointRequest<unknown, unknown, unknown>,
  'query' | 'sentQuery' | 'body' | 'validationErrors' | 'idempotencyKey' | 'bodyHash'
>;
type ReadInput = (request: Request, response: Response, rejectsUnknown: boolean) => Promise<Input>;

const anyFields: Schema = { type: 'object' };
const noFields: Schema = { type: 'object', additionalProperties: false };
const noInput: Input = { query: {}, sentQuery: {}, body: {}, validationErrors: [], idempotencyKey: undefined };
const keyPattern = /^[\x21-\x7e]{1,255}$/;
const keyError: ValidationError = {
  field: 'Idempotency-Key',
  kind: 'invalid',
  hint: '1 to 255 visible ASCII characters',
};

/** Returns a function that creates the reader of an endpoint. */
export function createInputReaders({ errors, formats, reading }: InputOptions) {
  const isStrict = reading === 'strict';
  const compile = isStrict ? createStrictValidator(formats) : createValidator(formats);

  return (endpoint: Endpoint<never>): ReadInput => {
    const { query: querySchema = anyFields, bodyUse, headers = {} } = endpoint;
    const { body: bodySchema = isStrict ? noFields : anyFields } = endpoint;
    const queryProperties = propertiesOf(querySchema);
    const unknownFieldsOf = createUnknownFieldsFinder(endpoint);
    const textsThatMayBeEmpty = Object.entries(propertiesOf(bodySchema)).flatMap(([name, { minLength }]) =>
      minLength === 0 ? [name] : [],
    );
    const hasKey = 'Idempotency-Key' in headers;
    const validateQuery = compile(querySchema);
    const validateBody = bodyUse === 'as sent' ? undefined : compile(bodySchema);

    const readFields = createBodyReader(endpoint, errors.apiError, { inflate: !isStrict });

    return async (request, response, rejectsUnknown) => {
      if (!endpoint.query && !endpoint.body && !hasKey && !rejectsUnknown) return noInput;
      const queryString = queryStringOf(request.url);
      const sentQuery = readQueryString(queryString, queryProperties);
      const queryInput = convertQuery(sentQuery, queryProperties);
      const query = validateQuery(queryInput);
      const fields = endpoint.body || rejectsUnknown ? await readFields(request, response) : {};
      const bodyInput = isStrict || bodyUse === 'as sent' ? fields : withoutEmptyTexts(fields, textsThatMayBeEmpty);
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
      return { query: query.value, sentQuery, body: body.value, validationErrors, idempotencyKey, ...bodyHash };
    };
  };
}

function createStrictValidator(formats: Formats): (schema: object) => Validate {
  const compile = createPointerValidator(formats);
  return (schema) => {
    const findErrors = compile(schema);
    return (value) => ({ value, validationErrors: findErrors(value) });
  };
}

/** The query takes precedence over the body. */
function withoutFieldsOfQuery(body: Readonly<Record<string, unknown>>, query: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !Object.hasOwn(query, name)));
}

/** Several elements of a parameter can be invalid. Their positions mean nothing to the client. */
function errorsOfParameters(errors: readonly ValidationError[]): readonly ValidationError[] {
  const firstOf = [...Map.groupBy(errors, ({ field }) => field).values()].flatMap((ofField) => ofField.slice(0, 1));
  return firstOf.map(({ field, kind, hint }) => ({ field, kind, hint }));
}

function queryStringOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

/** Creates an error of the service's catalogue. */
type BodyError = (code: 'ERR00003' | 'ERR00413' | 'ERR00415', options?: { readonly moreInfo?: string }) => Error;

const defaultLimit = 100_000;
const utf8 = new TextDecoder('utf-8', { fatal: true });
const jsonType = /^(?:application|text)\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i;

function hasJsonType({ headers }: Request): boolean {
  return headers['content-type'] === undefined || jsonType.test(headers['content-type']);
}

/** `curl -d` sends JSON with this type. */
const hasFormType = ({ headers }: Request): boolean => formType.test(headers['content-type'] ?? '');

function isUtf8({ headers }: Request): boolean {
  return /^utf-?8$/i.test(charset.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8');
}

const hasReadableType = (request: Request): boolean =>
  (hasJsonType(request) || hasFormType(request)) && isUtf8(request);

/**
 * Returns a function that reads the body as a JSON object or a form. An optional one can also be a JSON string, which
 * becomes the field `stringBodyField`. Any other body is an error, because a body must never be ignored.
 */
function createBodyReader(
  { body, bodyUse, bodyLimit = defaultLimit, stringBodyField }: Endpoint<never>,
  bodyError: BodyError,
  { inflate }: { readonly inflate: boolean },
): (request: Request, response: Response) => Promise<Record<string, unknown>> {
  // If compressed bodies are not inflated, they are an error.
  const readRawBody = express.raw({ type: () => true, limit: bodyLimit, inflate });

  async function readBytes(request: Request, response: Response): Promise<Buffer> {
    await new Promise<void>((resolve, reject) => {
      readRawBody(request, response, (error?: unknown) =>
        error ? reject(convert(error as RawBodyError, bodyError)) : resolve(),
      );
    });
    return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  }

  async function readRequired(request: Request, response: Response): Promise<Record<string, unknown>> {
    if (hasBody(request) && !hasReadableType(request)) throw bodyError('ERR00415');
    const bytes = await readBytes(request, response);
    if (!isJson(request, bytes)) throw bodyError('ERR00415');
    const value = parseJson(bytes, bodyError);
    if (!isObject(value)) throw bodyError('ERR00003');
    return value;
  }

  async function readOptional(request: Request, response: Response): Promise<Record<string, unknown>> {
    if (!hasBody(request)) return {};
    const bytes = await readBytes(request, response);
    if (bytes.length === 0) return {};
    if (!isUtf8(request)) throw bodyError('ERR00003');
    if (!isJson(request, bytes)) {
      if (hasFormType(request)) return Object.fromEntries(parametersOf(decode(bytes, bodyError)));
      throw bodyError('ERR00003');
    }
    const value = parseJson(bytes, bodyError);
    if (typeof value === 'string' && stringBodyField !== undefined) return { [stringBodyField]: value };
    if (!isObject(value)) throw bodyError('ERR00003');
    return value;
  }

  return body && bodyUse !== 'optional' ? readRequired : readOptional;
}

/** An error of body-parser. */
interface RawBodyError {
  readonly type?: string;
  readonly limit?: number;
}

function convert({ type, limit = defaultLimit }: RawBodyError, bodyError: BodyError): Error {
  // The code's description names the default limit.
  const moreInfo = limit === defaultLimit ? '' : `at most ${limit / 1_000} kB here`;
  if (type === 'entity.too.large') return bodyError('ERR00413', { moreInfo });
  if (type === 'encoding.unsupported')
    return bodyError('ERR00415', { moreInfo: 'This Content-Encoding is not accepted. Send the body uncompressed.' });
  return bodyError('ERR00003');
}

function decode(bytes: Uint8Array, bodyError: BodyError): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw bodyError('ERR00003');
  }
}

function parseJson(bytes: Uint8Array, bodyError: BodyError): unknown {
  const text = decode(bytes, bodyError);
  try {
    return JSON.parse(text);
  } catch {
    throw bodyError('ERR00003');
  }
}

/** `kept` are fields that may have an empty string as value. */
export function withoutEmptyTexts(fields: Readonly<Record<string, unknown>>, kept: readonly string[] = []) {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => value !== '' || kept.includes(name)));
}

/** A chunked body can still turn out to be empty. */
function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** `curl -d` sends a JSON object with the type of a form. No form begins with a brace. */
function isJson(request: Request, bytes: Buffer): boolean {
  return hasJsonType(request) || (hasFormType(request) && /^\s*\{/.test(bytes.toString('latin1', 0, 1_000)));
}
