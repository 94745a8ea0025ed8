// Applies the records of a file or of a PUT in one transaction, and exports them. A dry run is the same, rolled back.
import { setImmediate } from 'node:timers/promises';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import { type Database, type Transaction, transaction } from '@bay-booking/service/database/database';
import { type ChangeRequest, change } from './change.ts';
import { allKinds, batchSize, type EntryReader, type FileEntry } from './entries.ts';
import type { ManagementErrors } from './problems.ts';
import type { ChangeContext, Entry, Outcome, RecordKind } from './record.ts';

/** What the functions of this package need of a service. */
export interface RecordStore<Event> {
  readonly db: Database;
  /** One transaction at a time changes records, so that events become visible in the order of their numbers. */
  readonly lock: (tx: Transaction) => Promise<unknown>;
  /** The sections of a file, in the order in which they are written and deleted in reverse. */
  readonly roots: readonly RecordKind<object, Event>[];
  readonly reader: EntryReader<Event>;
  readonly errors: ManagementErrors;
}

/** A row of the result of an import. */
export interface ResultRow {
  readonly path: string;
  readonly action: Outcome['action'] | 'error';
  readonly problems: readonly PointerError[];
}

/** Nothing was imported. */
export class RejectedImport extends Error {
  readonly problems: readonly PointerError[];
  constructor(problems: readonly PointerError[]) {
    super('the file has errors');
    this.problems = problems;
  }
}

/**
 * Writes the records. If one has problems, the caller must roll back. Returns a row for each, without problems for one
 * inside a record that has some, and the outcome of the first record. An import can have 100,000 records, so the other
 * outcomes are not kept.
 */
export async function applyEntries<Event>(
  tx: Transaction,
  { roots }: Pick<RecordStore<Event>, 'roots'>,
  entries: readonly FileEntry<Event>[],
  context: ChangeContext<Event>,
): Promise<{ readonly rows: readonly ResultRow[]; readonly first: Outcome | undefined }> {
  const rows = new Map<FileEntry<Event>, ResultRow>(
    entries.map((entry) => [entry, { path: entry.pointer, action: 'error', problems: [] }]),
  );
  const hasFailed = (entry: FileEntry<Event>): boolean => rows.get(entry)?.action === 'error';
  let first: Outcome | undefined;
  const report = (entry: FileEntry<Event>, { action }: Outcome, found: readonly PointerError[]): void => {
    const problems = found.map((one) => located(entry, one));
    rows.set(entry, { path: entry.pointer, action: problems.length > 0 ? 'error' : action, problems });
  };
  for (const kind of allKinds(roots)) {
    const ofKind = entries.filter((entry) => entry.kind === kind && !(entry.parent && hasFailed(entry.parent)));
    const written: { readonly entry: FileEntry<Event>; readonly outcome: Outcome }[] = [];
    for (const batch of batchesOf(ofKind)) {
      const records = batch.map(({ record }) => record);
      const outcomes = (await kind.upsert(tx, records, context)) as readonly Outcome[];
      for (const [index, entry] of batch.entries()) {
        const outcome = outcomes[index] as Outcome;
        first ??= outcome;
        report(entry, outcome, outcome.problems);
        if (kind.verify && !hasFailed(entry)) written.push({ entry, outcome });
      }
      // Other requests of the process go on between two batches.
      await setImmediate();
    }
    const found = await kind.verify?.(
      tx,
      written.map(({ outcome }) => outcome),
    );
    for (const [index, { entry, outcome }] of written.entries()) report(entry, outcome, found?.[index] ?? []);
  }
  return { rows: [...rows.values()], first };
}

/** Returns the problem with a pointer into the file, which has no field for the record that contains another. */
function located<Event>({ kind, pointer, parent }: FileEntry<Event>, found: PointerError): PointerError {
  const isInherited = found.path === `/${parent?.kind.children?.parentField}`;
  return { ...found, path: pointer + (isInherited ? `/${kind.key}` : found.path) };
}

/**
 * Sorts the records by their root and their key, because two transactions that lock rows in the same order cannot wait
 * for each other.
 */
function batchesOf<Event>(entries: readonly FileEntry<Event>[]): readonly (readonly FileEntry<Event>[])[] {
  const rootKeyOf = ({ kind, record, parent }: FileEntry<Event>): string =>
    parent ? rootKeyOf(parent) : String(record[kind.key]);
  const keyed = entries.map((entry) => ({ entry, root: rootKeyOf(entry), key: String(entry.record[entry.kind.key]) }));
  const sorted = keyed.toSorted((a, b) => compare(a.root, b.root) || compare(a.key, b.key)).map(({ entry }) => entry);
  const starts = Array.from({ length: Math.ceil(sorted.length / batchSize) }, (_, index) => index * batchSize);
  return starts.map((start) => sorted.slice(start, start + batchSize));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * All or nothing. The response of a dry run says what an import would do. There are no events of a dry run and of a
 * repeated request.
 * @throws {RejectedImport} unless it is a dry run
 */
export async function importDocument<Event>(store: RecordStore<Event>, document: unknown, request: ChangeRequest) {
  const { errors, reader, db } = store;
  const missing = 'keep';
  const { problems: ofFile, entries } = await reader.ofFile(db, document, { missing });
  const rowOfFile: ResultRow = { path: '', action: 'error', problems: ofFile };
  const invalid = [
    rowOfFile,
    ...entries.map(({ pointer: path, problems }) => ({ ...rowOfFile, path, problems })),
  ].filter(({ problems }) => problems.length > 0);
  const responseOf = (rows: readonly ResultRow[]) => ({ status: 200, body: { entries: errors.entries(rows) } });
  if (invalid.length > 0) {
    // Nothing is compared with what is stored before all records are well-formed.
    if (request.dryRun) return { response: responseOf(invalid), events: undefined };
    throw new RejectedImport(invalid.flatMap(({ problems }) => problems));
  }
  let committed: readonly Event[] | undefined;
  const response = await change({ ...store, isLong: true }, request, async (tx) => {
    const { clientId, isCommand } = request;
    const events: Event[] = [];
    const { rows } = await applyEntries(tx, store, entries, { clientId, isCommand, missing, events });
    const found = rows.flatMap(({ problems }) => problems);
    if (found.length > 0 && !request.dryRun) throw new RejectedImport(found);
    const onCommit = (): void => {
      committed = events;
    };
    return { ...responseOf(rows.map(withReason)), onCommit };
  });
  return { response, events: committed };
}

const withReason = (row: ResultRow): ResultRow =>
  row.action !== 'error' || row.problems.length > 0
    ? row
    : { ...row, problems: [atPointer(row.path, 'conflict', 'belongs to a record that has errors')] };

/** An import file with everything. */
export async function exportDocument<Event>(
  { db, roots, lock }: Pick<RecordStore<Event>, 'db' | 'roots' | 'lock'>,
  options: Entry = {},
): Promise<Record<string, readonly object[]>> {
  return transaction(db, async (tx) => {
    // Nothing changes between the statements.
    await lock(tx);
    const document: Record<string, readonly object[]> = {};
    for (const kind of roots) document[kind.collection] = await nested(tx, kind, options);
    return document;
  });
}

async function nested<Event>(
  tx: Transaction,
  kind: RecordKind<object, Event>,
  options: Entry,
): Promise<readonly Entry[]> {
  const records = (await kind.readAll(tx, options)) as readonly Entry[];
  if (!kind.children) return records;
  const { field, kind: childKind, parentField } = kind.children;
  const byParent = Map.groupBy(await nested(tx, childKind, options), (child) => child[parentField]);
  return records.map((record) => {
    const inside = byParent.get(record[kind.key]) ?? [];
    return { ...record, [field]: inside.map(({ [parentField]: _, ...child }) => child) };
  });
}
