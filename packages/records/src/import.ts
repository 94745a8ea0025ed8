// Makes the changes of operators: one transaction for each, with its events and the response of an Idempotency-Key.
// Applies the records of a file or of a PUT in it. Exports records.
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
import { allKinds, batchSize, type EntryReader, type FileEntry, readNested } from './file.ts';
import type { ChangeContext, Fields, ManagementErrors, RecordEvent, RecordKind, RecordOutcome } from './record.ts';

/** What the functions of this package need of a service. */
export interface RecordStore {
  readonly db: Database;
  readonly link: MakeLink;
  /** One transaction at a time changes records, so that events become visible in the order of their numbers. */
  readonly lock: (tx: Transaction) => Promise<unknown>;
  /** The sections of a file, in the order of writing. They are deleted in reverse. */
  readonly roots: readonly RecordKind[];
  readonly reader: EntryReader;
  readonly errors: ManagementErrors;
  /** Gets the events of a change after the commit. */
  readonly onCommit: (events: readonly RecordEvent[], request: ChangeRequest) => void;
}

export interface ChangeRequest {
  readonly clientId: string;
  readonly subject?: string | null;
  /** Undefined for a command. */
  readonly requestId?: string;
  readonly dryRun: boolean;
  /** Only a POST has one. Undefined for a dry run, which stores no response. */
  readonly key?: KeyedRequest | undefined;
}

type Work = (tx: Transaction, events: RecordEvent[]) => Promise<EndpointResponse>;

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
  const { dryRun, key } = request;
  const now = new Date();
  let committed: readonly RecordEvent[] = [];
  const response = await transaction(db, async (tx) => {
    if (isLong) await query(tx, allowLongTransaction);
    await lock(tx);
    await checkUnused(tx, key, now);
    const events: RecordEvent[] = [];
    const done = await work(tx, events);
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

/** What an import has done with one record. */
interface ResultRow {
  readonly path: string;
  readonly action: RecordOutcome['action'] | 'error';
  readonly problems: readonly PointerError[];
}

/**
 * Writes the records. If one has problems, the caller must roll back. Returns a row for each, without problems for one
 * inside a record that has some, and the outcome of the first record. An import can have 100,000 records, so the other
 * outcomes are not kept.
 */
export async function applyEntries(
  tx: Transaction,
  { roots }: Pick<RecordStore, 'roots'>,
  entries: readonly FileEntry[],
  context: ChangeContext,
): Promise<{ readonly rows: readonly ResultRow[]; readonly first: RecordOutcome | undefined }> {
  const rows = new Map<FileEntry, ResultRow>(
    entries.map((entry) => [entry, { path: entry.pointer, action: 'error', problems: [] }]),
  );
  const hasFailed = (entry: FileEntry): boolean => rows.get(entry)?.action === 'error';
  let first: RecordOutcome | undefined;
  const report = (entry: FileEntry, { action }: RecordOutcome, found: readonly PointerError[]): void => {
    const problems = found.map((one) => located(entry, one));
    rows.set(entry, { path: entry.pointer, action: problems.length > 0 ? 'error' : action, problems });
  };
  for (const kind of allKinds(roots)) {
    const ofKind = entries.filter((entry) => entry.kind === kind && !(entry.parent && hasFailed(entry.parent)));
    // Other requests of the process go on before the records are sorted, and between two batches.
    await setImmediate();
    const written: { readonly entry: FileEntry; readonly outcome: RecordOutcome }[] = [];
    for (const batch of batchesOf(ofKind)) {
      const records = batch.map(({ record }) => record);
      const outcomes = (await kind.upsert(tx, records, context)) as readonly RecordOutcome[];
      for (const [index, entry] of batch.entries()) {
        const outcome = outcomes[index] as RecordOutcome;
        first ??= outcome;
        report(entry, outcome, outcome.problems);
        if (kind.verify && !hasFailed(entry)) written.push({ entry, outcome });
      }
      await setImmediate();
    }
    const outcomes = written.map(({ outcome }) => outcome);
    const found = await kind.verify?.(tx, outcomes);
    for (const [index, { entry, outcome }] of written.entries()) report(entry, outcome, found?.[index] ?? []);
  }
  return { rows: [...rows.values()], first };
}

/** Returns the problem with a pointer into the file, which has no field for the record that contains another. */
function located({ kind, pointer, parent }: FileEntry, found: PointerError): PointerError {
  const isInherited = found.path === `/${parent?.kind.children?.parentField}`;
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
): Promise<EndpointResponse> => once(store, request, () => importOnce(store, document, request, isCommand));

async function importOnce(
  store: RecordStore,
  document: unknown,
  request: ChangeRequest,
  isCommand: boolean,
): Promise<EndpointResponse> {
  const missing = 'keep';
  const { problems: ofFile, entries } = await store.reader.ofFile(store.db, document, { missing });
  const invalid = [{ pointer: '', problems: ofFile }, ...entries].filter(({ problems }) => problems.length > 0);
  // Nothing is compared with what is stored before all records are well-formed.
  if (invalid.length > 0) {
    if (!request.dryRun) throw new RejectedImport(invalid.flatMap(({ problems }) => problems));
    const rows = invalid.map(({ pointer: path, problems }) => ({ path, action: 'error', problems }) as const);
    return { status: 200, body: { entries: entriesOf(rows, store.errors) } };
  }
  const write = async (tx: Transaction, events: RecordEvent[]): Promise<EndpointResponse> => {
    const { rows } = await applyEntries(tx, store, entries, { clientId: request.clientId, isCommand, missing, events });
    const found = rows.flatMap(({ problems }) => problems);
    if (found.length > 0 && !request.dryRun) throw new RejectedImport(found);
    return { status: 200, body: { entries: entriesOf(rows.map(withReason), store.errors) } };
  };
  return commit(store, request, write, true);
}

const withReason = (row: ResultRow): ResultRow =>
  row.action !== 'error' || row.problems.length > 0
    ? row
    : { ...row, problems: [atPointer(row.path, 'conflict', 'belongs to a record that has errors')] };

/** A body of 10 MB can have an error in each of its fields. */
const maxErrors = 1_000;

/** The entries of the response to an import. */
function entriesOf(rows: readonly ResultRow[], errors: ManagementErrors) {
  let left = maxErrors;
  return rows.map(({ path, action, problems }) => {
    const found = errors.problemsOf(problems.slice(0, Math.max(left, 1)));
    left -= found.length;
    return { path, action, errors: found };
  });
}

/** An import file with everything. */
export function exportDocument(
  { db, roots, lock }: Pick<RecordStore, 'db' | 'roots' | 'lock'>,
  options: Fields = {},
): Promise<Record<string, readonly Fields[]>> {
  return transaction(db, async (tx) => {
    // Nothing changes between the statements.
    await lock(tx);
    const document: Record<string, readonly Fields[]> = {};
    for (const kind of roots) document[kind.collection] = await readNested(tx, kind, options);
    return document;
  });
}
