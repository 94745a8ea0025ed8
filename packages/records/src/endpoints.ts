// Describes and handles the endpoints of one kind of record: list, get, put and delete.
import {
  type Endpoint,
  type EndpointRequest,
  type EndpointResponse,
  endpointDefiner,
  responseSchema,
  type Schema,
  type SuccessDescription,
} from '@bay-booking/common/endpoint';
import { errorEnvelopeSchema } from '@bay-booking/common/errors';
import { listEnvelope, listSchema, pageQuery, pathOfPage } from '@bay-booking/common/page';
import { atPointer, createPointerValidator, type PointerError } from '@bay-booking/common/validation';
import { contentHash, findFailedPrecondition } from '@bay-booking/service/http/etag';
import { keyedRequest } from '@bay-booking/service/idempotency';
import {
  type ChangeRequest,
  change,
  type Fields,
  inputSchema,
  type Operator,
  type RecordKind,
  type RecordOutcome,
  type RecordStore,
  type Stored,
  withoutInvalid,
} from './record.ts';

type Request = EndpointRequest<unknown, unknown, Operator>;

const defineEndpoint = endpointDefiner<Operator>();
export const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
const tag = 'Records';
const defaultPageSize = 50;

const string = { type: 'string' } as const;
const ifMatchHeader = {
  'If-Match': { description: 'The request fails with 412 unless the ETag is one of these.', schema: string },
};

/** The query of a list. The type of the result leaves out the filters, which only a service knows. */
export const withFilters = <const Properties extends object>(properties: Properties, filters: object) =>
  ({ type: 'object', properties: { ...filters, ...properties } as Properties }) as const;

/** The change that a request makes. */
export function changeRequestOf(request: Request): ChangeRequest {
  const { clientId, subject = null } = request.caller;
  const { dryRun = false } = request.query as { readonly dryRun?: boolean };
  return { clientId, subject, requestId: request.requestId, dryRun, key: dryRun ? undefined : keyedRequest(request) };
}

interface ListDescription extends Pick<Endpoint, 'operationId' | 'tag' | 'summary' | 'description'> {
  readonly collection: string;
  readonly filters: Readonly<Record<string, Schema>>;
  readonly item: Schema;
  readonly list: RecordKind['list'];
}

/** Returns a page of `/management/{collection}`. */
export function listEndpoint(
  { db, link }: Pick<RecordStore, 'db' | 'link'>,
  { collection, filters, item, list, ...description }: ListDescription,
): Endpoint<Operator> {
  const path = `/management/${collection}`;
  return defineEndpoint({
    ...description,
    method: 'GET',
    path,
    access: 'read',
    query: withFilters(pageQuery(defaultPageSize), filters),
    success: { status: 200, description: 'A page of the list.', schema: listSchema(item) },
    handle: async ({ query: { page: number = 1, pageSize = defaultPageSize, ...filter }, sentQuery }) => {
      const page = { page: number, pageSize };
      const { rows, total } = await list(db, filter as Fields, page);
      const hrefOf = (target: number): string =>
        link('GET', pathOfPage(path, sentQuery, { page: target, pageSize })).href;
      return { status: 200, body: listEnvelope(rows, total, page, hrefOf) };
    },
  });
}

export function recordEndpoints(kind: RecordKind, store: RecordStore): readonly Endpoint<Operator>[] {
  const { errors } = store;
  const { name, collection, key, example, notes } = kind;
  const path = `/management/${collection}`;
  const headers = { ETag: { description: 'Changes with the record and its secrets.', schema: string } };
  const success = { status: 200, description: `The ${name}.`, schema: kind.schema, example, headers };
  const keyOf = ({ params: { [key]: value = '' } }: Pick<Request, 'params'>): string => value;

  return [
    listEndpoint(store, {
      operationId: `list${capital(collection)}`,
      collection,
      tag,
      summary: `List ${collection}`,
      description: `The ${collection} of the service, by ${key}.`,
      filters: kind.filters,
      item: kind.schema,
      list: kind.list,
    }),
    defineEndpoint({
      operationId: `get${capital(name)}`,
      method: 'GET',
      path: `${path}/{${key}}`,
      access: 'read',
      tag,
      summary: `Get the ${name}`,
      description: `The entry of the ${name} in an import file, without secrets.`,
      headers: {
        'If-None-Match': { description: 'The response is 304 if the ETag is one of these.', schema: string },
      },
      success,
      handle: async (request) => {
        const found = await kind.find(store.db, keyOf(request));
        if (!found) throw errors.apiError('ERR00404');
        return { status: 200, body: found.record, headers: { ETag: etagOf(found) } };
      },
    }),
    defineEndpoint({
      operationId: `put${capital(name)}`,
      method: 'PUT',
      path: `${path}/{${key}}`,
      access: 'write',
      tag,
      summary: `Create or replace the ${name}`,
      description: `Returns 201 if it is new. An optional field that is left out gets its default. ${notes.put}`,
      headers: {
        ...ifMatchHeader,
        'If-None-Match': { description: 'With *, the request fails with 412 if the record exists.', schema: string },
      },
      body: inputSchema(kind, key),
      bodyUse: 'as sent',
      bodyExample: example,
      success,
      otherSuccess: { ...success, status: 201 },
      handle: createPut(kind, store),
    }),
    defineEndpoint({
      operationId: `delete${capital(name)}`,
      method: 'DELETE',
      path: `${path}/{${key}}`,
      access: 'write',
      tag,
      summary: `Delete the ${name}`,
      description: notes.remove,
      headers: ifMatchHeader,
      success: { status: 204, description: 'Deleted.' },
      handle: (request) =>
        change(store, changeRequestOf(request), async (tx, context) => {
          await kind.lock?.(tx, keyOf(request));
          const found = await kind.find(tx, keyOf(request));
          if (!found) throw errors.apiError('ERR00404');
          checkPreconditions(request.header, found, store);
          const problem = await kind.remove(tx, found.record, context);
          if (problem) throw errors.badRequest(errors.problemsOf([problem]));
          return { status: 204 };
        }),
    }),
  ];
}

/** Handles a PUT: first every error of form, then every error against what is stored, then the preconditions. */
function createPut(kind: RecordKind, store: RecordStore): (request: Request) => Promise<EndpointResponse> {
  const { db, link } = store;
  const { badRequest, problemsOf } = store.errors;
  const { key: field, unique } = kind;
  const normalize = unique?.[field] ?? String;
  const findFormErrors = createPointerValidator(store.formats)(inputSchema(kind));
  const check = (problems: readonly PointerError[]): void => {
    if (problems.length > 0) throw badRequest(problemsOf(problems));
  };

  return async (request) => {
    const { [field]: key = '' } = request.params;
    const body = request.body as Fields;
    const given = body[field];
    const isSame = given === undefined || (typeof given === 'string' && normalize(given) === normalize(key));
    const identity = await kind.identify?.(db, key);
    const sent = identity ? { ...identity, ...body } : { ...body, [field]: key };
    const ofForm = [
      ...(isSame ? [] : [atPointer(`/${field}`, 'invalid', 'must be that of the URL')]),
      ...findFormErrors(sent),
    ];
    const prepared = await kind.prepare?.(db, [withoutInvalid(sent, '', ofForm)], { keepsOmitted: false });
    const { record, problems: ofRules } = prepared?.[0] ?? { record: sent, problems: [] };
    check([...ofForm, ...ofRules]);
    return change(store, changeRequestOf(request), async (tx, context) => {
      // Another request may have created the record since.
      const current = Object.entries((await kind.identify?.(tx, key)) ?? {}).filter(([name]) => !(name in body));
      const records = [{ ...record, ...Object.fromEntries(current) }];
      const outcomes = (await kind.compare(tx, records, { ...context, keepsOmitted: false })) as RecordOutcome[];
      const [{ action, after, problems }] = outcomes as [RecordOutcome];
      if (problems.some(({ kind: reason }) => reason !== 'conflict' && reason !== 'forbidden')) check(problems);
      const stored = await kind.find(tx, key);
      // Before the other problems, which may be due to the state that the precondition excludes.
      checkPreconditions(request.header, stored, store);
      check(problems);
      if (action !== 'unchanged') await kind.write(tx, outcomes, context);
      check((await kind.verify?.(tx, outcomes))?.flat() ?? []);
      const id = String(after[field]);
      const written = (action === 'unchanged' ? stored : await kind.find(tx, id)) as Stored;
      const { href } = link('GET', `/management/${kind.collection}/${encodeURIComponent(id)}`);
      const headers = { ETag: etagOf(written), ...(!stored && { Location: href }) };
      return { status: stored ? 200 : 201, body: written.record, headers, action };
    });
  };
}

/** Only responses need the entity tag, so an import of 100,000 records calculates none. */
const etagOf = ({ record, secrets }: Stored<object>): string =>
  `"${contentHash(JSON.stringify(secrets ? [record, secrets] : record))}"`;

/** @throws {ApiError} 412, with the name of the header */
function checkPreconditions(
  header: (name: string) => string | undefined,
  stored: Stored<object> | undefined,
  { errors }: Pick<RecordStore, 'errors'>,
): void {
  const failed = findFailedPrecondition(header, stored && etagOf(stored));
  if (!failed) return;
  const { field, reason } = failed;
  throw errors.apiError('ERR00412', { moreInfo: `${field}: ${reason}`, context: { field } });
}

export const dryRunResultSchema = responseSchema({
  action: { enum: ['create', 'update', 'unchanged', 'delete', 'error'] },
  errors: { ...errorEnvelopeSchema.properties.errors, minItems: 0, description: 'Empty unless action is error.' },
});

/** A dry run has status 200, whatever the status of the request itself is. */
const withDryRun = (success: SuccessDescription): Partial<Endpoint> =>
  success.status === 200
    ? { success: { ...success, schema: { oneOf: [success.schema, dryRunResultSchema] } } }
    : { otherSuccess: { status: 200, description: 'With `dryRun`: what would be done.', schema: dryRunResultSchema } };

/** Adds the parameter of the path, and what every endpoint that changes something accepts. */
export function withCommonParts(endpoint: Endpoint<Operator>): Endpoint<Operator> {
  const { query, headers, method, path } = endpoint;
  const [, collection = '', name] = /([^/]+)\/\{(\w+)\}/.exec(path) ?? [];
  const parameter = { description: `The ${name} of an element of ${collection}.`, schema: { type: 'string' } };
  const params = name === undefined ? {} : { params: { [name]: parameter } };
  if (method === 'GET') return { ...endpoint, ...params };
  const dryRun = 'Whether nothing is written. The response then says what would be done.';
  const properties = { ...(query?.properties as object), dryRun: { type: 'boolean', description: dryRun } };
  const idempotencyKey =
    'Makes it safe to repeat the request. For 24 hours, the same request with the same key gets the same response, ' +
    'and another request with the same key gets 422.';
  const ofPost = method === 'POST' && {
    headers: { ...headers, 'Idempotency-Key': { description: idempotencyKey, schema: string } },
  };
  const { describesDryRun = true, success } = endpoint;
  const documented = describesDryRun && withDryRun(success);
  return { ...endpoint, ...params, query: { type: 'object', properties }, describesDryRun, ...ofPost, ...documented };
}
