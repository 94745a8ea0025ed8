// Defines records, which operators create and change with an import file, a PUT or a command (docs/import.md), the
// transaction of such a change, and the errors of the management APIs.
import { isDeepStrictEqual } from 'node:util';
import type { EndpointResponse, Schema } from '@bay-booking/common/endpoint';
import { createErrors, type DocumentedError } from '@bay-booking/common/errors';
import { generalErrors, hasHeader, hasPathParameter } from '@bay-booking/common/general-errors';
import type { MakeLink } from '@bay-booking/common/links';
import type { PageRequest } from '@bay-booking/common/page';
import { atPointer, type Formats, isObject, type PointerError } from '@bay-booking/common/validation';
import {
  type Database,
  type Queryable,
  query,
  Rollback,
  type Transaction,
  transaction,
} from '@bay-booking/service/database/database';
import {
  checkUnused,
  createIdempotency,
  type KeyedRequest,
  newResponse,
  storeResponse,
} from '@bay-booking/service/idempotency';
import { createFilteredList, type FilteredStatement } from '@bay-booking/service/page-statements';

export type Fields = Readonly<Record<string, unknown>>;

export interface Stored<R = Fields> {
  /** As in an import file, without secrets. */
  readonly record: R;
  /** The fields of an export with credentials, on which the entity tag depends too. */
  readonly secrets?: object;
}

export interface RecordOutcome<R = Fields> {
  readonly action: 'create' | 'update' | 'unchanged';
  readonly problems: readonly PointerError[];
  /** The names of the fields that differ, also of secrets that the record does not show. */
  readonly changed: readonly string[];
  readonly before: Stored<R> | undefined;
  readonly after: R;
}

/** What the audit trail or the log says about a change: never a secret. */
export interface RecordEvent {
  /** The subject and the action, such as `sign-in.refused` or `client.changed`. */
  readonly kind: string;
  readonly accountId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly facilityId?: string | undefined;
  readonly detail?: Readonly<Record<string, string | number | boolean | null | readonly string[] | undefined>>;
}

/** Who makes a change. */
export interface ChangeContext {
  /** For the audit trail: the client of the operator, or the name of the command. */
  readonly clientId: string;
  /** The events to be logged after the commit. */
  readonly events: RecordEvent[];
}

/** Who changes records, and how they are completed. */
export interface RecordContext extends ChangeContext {
  /** Whether a field that an update leaves out keeps its stored value. Otherwise, the field gets its default. */
  readonly keepsOmitted: boolean;
  /** Whether the command makes the change, with the credentials of the database. */
  readonly isCommand?: boolean | undefined;
}

export type PrepareContext = Pick<RecordContext, 'keepsOmitted'>;

/** One kind of record. The commands, the import and the management API call only these functions. */
export interface RecordKind<R extends object = object, Outcome extends RecordOutcome<R> = RecordOutcome<R>> {
  /** Such as `facility`; events, targets and operation ids use both names. */
  readonly name: string;
  readonly collection: string;
  /** The field of the record that the URL contains. */
  readonly key: string;
  readonly example: object;
  /** The record in responses. Its `required` fields are also those of a file. */
  readonly schema: Schema & { readonly properties: Readonly<Record<string, Schema>> };
  /** Fields that a new record may leave out although responses have them. */
  readonly optional?: readonly string[];
  /** In a file, the records are in the array `list` of a record of the kind `name`. Elsewhere, `field` names it. */
  readonly parent?: { readonly name: string; readonly list: string; readonly field: string };
  /** Fields that must be unique in a file, besides the key. `normalize` converts values that count as equal. */
  readonly unique?: Readonly<Record<string, (value: string) => string>>;
  /** The filters of the list. */
  readonly filters: Readonly<Record<string, Schema>>;
  readonly notes: { readonly put: string; readonly remove: string };
  /**
   * Finds errors of form that a schema cannot express, and does slow work before the transaction, such as hashing
   * passwords. Returns the records to be stored. A field with an error of the schema is undefined here.
   */
  prepare?(
    db: Queryable,
    records: readonly R[],
    context: PrepareContext,
  ): Promise<readonly { readonly record: R; readonly problems: readonly PointerError[] }[]>;
  /** What the URL of a PUT says about the record. The body may repeat it. Default: the key. */
  readonly identify?: (on: Queryable, key: string) => Promise<Partial<R>>;
  readonly find: (on: Queryable, key: string) => Promise<Stored<R> | undefined>;
  readonly list: (
    on: Queryable,
    filter: Fields,
    page: PageRequest,
  ) => Promise<{ readonly rows: readonly object[]; readonly total: number }>;
  /** Everything, for an export, in the order of the key. */
  readonly readAll: (on: Queryable, options: Fields) => Promise<readonly R[]>;
  /** Locks records and compares them with the stored ones. Returns an outcome for each, in the same order. */
  compare(tx: Transaction, records: readonly R[], context: RecordContext): Promise<readonly Outcome[]>;
  /** Writes the records that are new or changed and have no problems, with their events. */
  write(tx: Transaction, outcomes: readonly Outcome[], context: ChangeContext): Promise<void>;
  /** Checks a rule after all records of a file are written. Returns the problems of each, in the same order. */
  verify?(tx: Transaction, outcomes: readonly RecordOutcome<R>[]): Promise<readonly (readonly PointerError[])[]>;
  /** Locks the rows that others than operators can change and that decide whether the record can be deleted. */
  lock?(tx: Transaction, key: string): unknown;
  /** Deletes a record, with its event. Returns why it cannot be deleted. */
  remove(tx: Transaction, record: R, context: ChangeContext): Promise<PointerError | undefined>;
}

/** The schema of what operators write. They may leave out the fields `omitted`, which the record gets anyway. */
export function inputSchema({ schema, optional = [] }: RecordKind, ...omitted: readonly string[]) {
  const required = schema.required as readonly string[];
  return { ...schema, required: required.filter((name) => ![...optional, ...omitted].includes(name)) };
}

/** The record with undefined in place of the fields that have problems, so that its other fields are judged too. */
export function withoutInvalid(record: Fields, pointer: string, problems: readonly PointerError[]): Fields {
  if (problems.length === 0) return record;
  const names = problems.map(({ path }) => path.slice(pointer.length).split('/')[1] ?? '');
  const invalid = names.map((name) => [name.replaceAll('~1', '/').replaceAll('~0', '~'), undefined]);
  return { ...record, ...Object.fromEntries(invalid) };
}

/** Compares a record with the stored one. */
export function outcomeOf<R extends object>(
  before: Stored<R> | undefined,
  after: R,
  problems: readonly PointerError[],
  secrets: readonly string[] = [],
): RecordOutcome<R> {
  const [old, current] = [before?.record ?? {}, after] as readonly Fields[] as [Fields, Fields];
  const names = [...new Set([...Object.keys(old), ...Object.keys(current)])];
  const differs = (name: string): boolean => !isDeepStrictEqual(old[name], current[name]);
  const changed = [...names.filter(differs), ...secrets];
  const action = before === undefined ? 'create' : changed.length > 0 ? 'update' : 'unchanged';
  return { action, problems, changed, before, after };
}

/** Returns the outcomes that must be written. */
export const toWrite = <O extends Pick<RecordOutcome<object>, 'action' | 'problems'>>(
  outcomes: readonly O[],
): readonly O[] => outcomes.filter(({ action, problems }) => action !== 'unchanged' && problems.length === 0);

interface RecordStatement extends FilteredStatement {
  /** A condition on $1. */
  readonly byKey: string;
  /** A JSON object with the fields that only responses have. */
  readonly shown?: string;
  /** A JSON object with further fields of an export with credentials. */
  readonly exported?: string;
}

/** The reading functions of a kind. */
export function createReads<Row extends object, R extends object>(
  { columns, shown = 'null', exported = 'null', byKey, ...rows }: RecordStatement,
  read: (row: Row) => Stored<R>,
) {
  const responseColumns = `${columns}, ${shown} as shown`;
  const list = createFilteredList<Row>({ ...rows, columns: responseColumns });
  const respond = ({ shown: fields, ...row }: Row & { readonly shown?: object | null }) => {
    const { record, ...others } = read(row as Row);
    return { record: { ...record, ...fields }, ...others };
  };
  return {
    find: async (on: Queryable, key: string) =>
      (await query<Row>(on, `select ${responseColumns} ${rows.from} and ${byKey}`, [key])).map(respond)[0],
    list: async (on: Queryable, filter: Fields, page: PageRequest) => {
      const { rows: found, total } = await list(on, filter, page);
      return { rows: found.map((row) => respond(row).record), total };
    },
    readAll: async (on: Queryable, { credentials }: Fields) => {
      const added = credentials === 'hashed' ? exported : 'null';
      const statement = `select ${columns}, ${added} as exported ${rows.from} order by ${rows.orderBy}`;
      const found = await query<Row & { exported: object | null }>(on, statement);
      return found.map(({ exported: fields, ...row }) => {
        const { record, secrets } = read(row as unknown as Row);
        return { ...record, ...(credentials === 'hashed' && { ...secrets, ...fields }) };
      });
    },
  };
}

/** Returns a function that reports a repeated value, with the pointers of both places. */
export function createRepetitionFinder() {
  const first = new Map<string, string>();
  return (pointer: string, value: string): readonly PointerError[] => {
    const earlier = first.get(value);
    if (earlier !== undefined) return [atPointer(pointer, 'duplicate', `is the same as ${earlier}`)];
    first.set(value, pointer);
    return [];
  };
}

/** The records of a service, and what their changes need. */
export interface RecordStore {
  readonly db: Database;
  readonly link: MakeLink;
  /** In the order of writing: each kind before that of the records inside it. */
  readonly kinds: readonly RecordKind[];
  readonly formats: Formats;
  readonly errors: ManagementErrors;
  /** One transaction at a time changes records, so that events become visible in the order of their numbers. */
  readonly lock: (tx: Transaction) => Promise<unknown>;
  /** Gets the events of a change after the commit. */
  readonly onCommit: (events: readonly RecordEvent[], request: ChangeRequest) => void;
  /** Stores the events of an export. */
  readonly auditExport?: (tx: Transaction, options: Fields, context: ChangeContext) => Promise<void>;
}

/** Who calls a management API. */
export interface Operator {
  readonly clientId: string;
  readonly subject?: string | null;
}

/** `clientId` may be the name of a command, such as `import`. */
export interface ChangeRequest extends Operator {
  /** Undefined for a command. */
  readonly requestId?: string;
  readonly dryRun: boolean;
  /** Only a POST has one. Undefined for a dry run, which stores no response. */
  readonly key?: KeyedRequest | undefined;
}

type Work = (tx: Transaction, context: ChangeContext) => Promise<EndpointResponse>;

/**
 * Makes one change. A dry run and a repeated request have no events.
 * @throws {ApiError} 422 if the key was used before with another request
 */
export const change = (store: RecordStore, request: ChangeRequest, work: Work): Promise<EndpointResponse> =>
  once(store, request, () => commit(store, request, work));

export const once = (
  { db, errors }: RecordStore,
  { key }: ChangeRequest,
  work: () => Promise<EndpointResponse>,
): Promise<EndpointResponse> => createIdempotency(db, errors).once(key, { now: new Date() }, work);

/** Only an import `isLong`. */
export async function commit(
  { db, lock, onCommit }: RecordStore,
  request: ChangeRequest,
  work: Work,
  isLong = false,
): Promise<EndpointResponse> {
  const { clientId, dryRun, key } = request;
  const now = new Date();
  let committed: readonly RecordEvent[] = [];
  const response = await transaction(db, async (tx) => {
    if (isLong) await query(tx, allowLongTransaction);
    await lock(tx);
    await checkUnused(tx, key, now);
    const events: RecordEvent[] = [];
    const done = await work(tx, { clientId, events });
    if (dryRun) throw new Rollback(done);
    // The key belongs to no facility.
    const stored = { facilityId: '', createdAt: now.toISOString() };
    await storeResponse(tx, newResponse(key, withoutSecret(done)), stored);
    committed = events;
    return done;
  });
  if (!dryRun) onCommit(committed, request);
  return response;
}

/** A secret is shown once, also to a request that is repeated. */
const withoutSecret = ({ body, ...response }: EndpointResponse): EndpointResponse => ({
  ...response,
  body: isObject(body) && 'client_secret' in body ? { ...body, client_secret: null } : body,
});

/** The limits of infra/postgres/service.sql are for requests. PostgreSQL 16 and older have no `transaction_timeout`. */
const allowLongTransaction = `select set_config(name, value, true) from (values ('transaction_timeout', '0'),
  ('statement_timeout', '60s'), ('lock_timeout', '60s'), ('idle_in_transaction_session_timeout', '60s'))
  setting (name, value) where exists (select from pg_settings s where s.name = setting.name)`;

const { ERR00003, ERR00401, ERR00403, ERR00405, ERR00406, ERR00409, ERR00415, ERR00500, ERR00503 } = generalErrors;
const withBody = 'endpoints with a body';

type Catalogue = Readonly<Record<string, DocumentedError>>;

/** Each service adds its own codes. */
const recordErrors = {
  ERR00001: { status: 400, description: "'{fieldName}' is mandatory.", appliesTo: withBody },
  ERR00002: { status: 400, description: "'{fieldName}' is invalid.", appliesTo: 'every endpoint' },
  ERR00003,
  ERR00401,
  ERR00403,
  ERR00404: { status: 404, description: 'Not found.', appliesTo: [hasPathParameter] },
  ERR00405,
  ERR00406,
  ERR00409,
  ERR00412: {
    status: 412,
    description: 'The resource was changed by somebody else, or exists already: a precondition failed.',
    appliesTo: [hasHeader('If-Match')],
  },
  ERR00413: { status: 413, description: 'The request body is too large.', appliesTo: withBody },
  ERR00415,
  ERR00422: {
    status: 422,
    description: 'The Idempotency-Key was used before with another request.',
    appliesTo: [hasHeader('Idempotency-Key')],
  },
  ERR00500,
  ERR00503,
  PLACE00002: {
    status: 409,
    description: 'The id belonged to a facility that was deleted. It is never used again.',
    appliesTo: ['putFacility', 'importFile'],
  },
} as const satisfies Catalogue;

/** The errors of one service: the general ones and `own`. */
export const createManagementErrors = <const Own extends Catalogue>(own: Own) =>
  createErrors({ ...recordErrors, ...own }, { form: 'pointer' });

export type ManagementErrors = ReturnType<typeof createManagementErrors<Record<never, never>>>;
