// Makes the changes of operators: one transaction for each, with its events and the response of an Idempotency-Key.
// Applies the records of a file or of a PUT in such a transaction. Exports records.
import { setImmediate } from 'node:timers/promises';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { atPointer, isObject, type PointerError } from '@bay-booking/common/validation';
import { type Database, query, Rollback, type Transaction, transaction } from '@bay-booking/service/database/database';
import {
  checkUnused,
  createIdempotency,
  type KeyedRequest,
  newResponse,
  storeResponse,
} from '@bay-booking/service/idempotency';
import { batchSize, type FileEntry, type ImportFiles } from './file.ts';
import {
  type ChangeContext,
  type Fields,
  type ManagementErrors,
  type RecordContext,
  type RecordEvent,
  type RecordKind,
  type RecordOutcome,
  toWrite,
} from './record.ts';

/** What the functions of this package need of a service. */
export interface RecordStore {
  readonly db: Database;
  readonly link: MakeLink;
  /** One transaction at a time changes records, so that events become visible in the order of their numbers. */
  readonly lock: (tx: Transaction) => Promise<unknown>;
  /** In the order of writing: each kind before that of the records inside it. */
  readonly kinds: readonly RecordKind[];
  readonly files: ImportFiles;
  readonly errors: ManagementErrors;
  /** Gets the events of a change after the commit. */
  readonly onCommit: (events: readonly RecordEvent[], request: ChangeRequest) => void;
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

const once = (
  { db, errors }: RecordStore,
  { key }: ChangeRequest,
  work: () => Promise<EndpointResponse>,
): Promise<EndpointResponse> => createIdempotency(db, errors).once(key, { now: new Date() }, work);

/** Only an import `isLong`. */
async function commit(
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

/**
 * Writes the records and sets `action` and `problems` of their entries. If there are problems, the caller must roll
 * back. Returns the outcome of the first record. An import can have 100,000 records, so the others are not kept.
 */
export async function applyEntries(
  tx: Transaction,
  { kinds }: Pick<RecordStore, 'kinds'>,
  entries: readonly FileEntry[],
  context: RecordContext,
): Promise<RecordOutcome | undefined> {
  // The transaction may run for the second time.
  for (const entry of entries) Object.assign(entry, { action: 'error', problems: [] });
  let first: RecordOutcome | undefined;
  for (const kind of kinds) {
    const ofKind = entries.filter((entry) => entry.kind === kind && entry.parent?.action !== 'error');
    // Other requests of the process go on before the records are sorted, and between two batches.
    await setImmediate();
    const unverified: { readonly entry: FileEntry; readonly outcome: RecordOutcome }[] = [];
    for (const batch of batchesOf(ofKind)) {
      const records = batch.map(({ record }) => record);
      const outcomes = (await kind.compare(tx, records, context)) as readonly RecordOutcome[];
      const written = toWrite(outcomes);
      if (written.length > 0) await kind.write(tx, written, context);
      first ??= outcomes[0];
      for (const [index, entry] of batch.entries()) {
        const outcome = outcomes[index] as RecordOutcome;
        report(entry, outcome, outcome.problems);
        if (kind.verify && entry.action !== 'error') unverified.push({ entry, outcome });
      }
      await setImmediate();
    }
    const outcomes = unverified.map(({ outcome }) => outcome);
    const found = await kind.verify?.(tx, outcomes);
    for (const [index, { entry, outcome }] of unverified.entries()) report(entry, outcome, found?.[index] ?? []);
  }
  return first;
}

function report(entry: FileEntry, { action }: RecordOutcome, found: readonly PointerError[]): void {
  entry.problems = found.map((problem) => located(entry, problem));
  entry.action = found.length > 0 ? 'error' : action;
}

/** Returns the problem with a pointer into the file, which has no field for the record that contains another. */
function located({ kind, pointer, parent }: FileEntry, found: PointerError): PointerError {
  const isInherited = parent && found.path === `/${kind.parent?.field}`;
  return { ...found, path: pointer + (isInherited ? `/${kind.key}` : found.path) };
}

/**
 * Sorts the records by their root and their key, because two transactions that lock rows in the same order cannot wait
 * for each other.
 */
function batchesOf(entries: readonly FileEntry[]): readonly (readonly FileEntry[])[] {
  const keyOf = ({ kind, record }: FileEntry): string => String(record[kind.key]);
  const rootKeyOf = (entry: FileEntry): string => (entry.parent ? rootKeyOf(entry.parent) : keyOf(entry));
  const roots = [...Map.groupBy(entries, rootKeyOf)].toSorted(([a], [b]) => compare(a, b));
  const sorted = roots.flatMap(([, inside]) => inside.toSorted((a, b) => compare(keyOf(a), keyOf(b))));
  const starts = Array.from({ length: Math.ceil(sorted.length / batchSize) }, (_, index) => index * batchSize);
  return starts.map((start) => sorted.slice(start, start + batchSize));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Nothing was imported. */
export class RejectedImport extends Error {
  readonly problems: readonly PointerError[];
  constructor(problems: readonly PointerError[]) {
    super('the file has errors');
    this.problems = problems;
  }
}

/**
 * All or nothing. The response of a dry run says what an import would do. A repeated request is not validated again.
 * @throws {RejectedImport} unless it is a dry run
 */
export const importDocument = (
  store: RecordStore,
  document: unknown,
  request: ChangeRequest,
  isCommand = false,
): Promise<EndpointResponse> =>
  once(store, request, async () => {
    const { problems, entries } = await store.files.ofFile(store.db, document);
    const ofFile = { pointer: '', action: 'error' as const, problems: [...problems] };
    const invalid = [ofFile, ...entries].filter((entry) => entry.problems.length > 0);
    // Nothing is compared with what is stored before all records are well-formed.
    if (invalid.length > 0) return importResponse(store, request, invalid);
    const write = async (tx: Transaction, context: ChangeContext): Promise<EndpointResponse> => {
      await applyEntries(tx, store, entries, { ...context, isCommand, keepsOmitted: true });
      return importResponse(store, request, entries);
    };
    return commit(store, request, write, true);
  });

/** A body of 10 MB can have an error in each of its fields. */
const maxErrors = 1_000;

function importResponse(
  { errors }: RecordStore,
  { dryRun }: ChangeRequest,
  entries: readonly Pick<FileEntry, 'pointer' | 'action' | 'problems'>[],
): EndpointResponse {
  const found = entries.flatMap(({ problems }) => problems);
  if (found.length > 0 && !dryRun) throw new RejectedImport(found);
  let left = maxErrors;
  const rows = entries.map(({ pointer, action, problems }) => {
    const isInside = action === 'error' && problems.length === 0;
    const reasons = isInside ? [atPointer(pointer, 'conflict', 'belongs to a record that has errors')] : problems;
    const listed = errors.problemsOf(reasons.slice(0, Math.max(left, 1)));
    left -= listed.length;
    return { path: pointer, action, errors: listed };
  });
  return { status: 200, body: { entries: rows } };
}

/** An import file with everything. */
export const exportDocument = ({ db, files, lock }: Pick<RecordStore, 'db' | 'files' | 'lock'>, options: Fields = {}) =>
  transaction(db, async (tx) => {
    // Nothing changes between the statements.
    await lock(tx);
    return files.write(tx, options);
  });
