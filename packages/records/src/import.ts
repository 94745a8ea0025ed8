// Applies the records of a file or of a PUT in one transaction. A dry run is the same, rolled back.

import { setImmediate } from 'node:timers/promises';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import { type Database, type Transaction, transaction } from '@bay-booking/service/database/database';
import { type ChangeRequest, change } from './change.ts';
import { allKinds, type EntryReader, type FileEntry } from './entries.ts';
import type { ManagementErrors } from './problems.ts';
import type { AnyKind, ChangeContext, Entry, Outcome } from './record.ts';

/** What the functions of this package need of a service. */
export interface RecordStore {
  readonly db: Database;
  /** One transaction at a time changes records, so that events become visible in the order of their numbers. */
  readonly lock: (tx: Transaction) => Promise<unknown>;
  /** The sections of a file, in the order in which they are written and deleted in reverse. */
  readonly roots: readonly AnyKind[];
  readonly reader: EntryReader;
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

const batchSize = 500;

/** What `upsert` gets. */
export type Prepared = ReadonlyMap<FileEntry, Entry>;

/** Does the slow work before the transaction, such as hashing passwords. Invalid fields are left out. */
export async function prepareEntries(
  { db, roots }: Pick<RecordStore, 'db' | 'roots'>,
  entries: readonly FileEntry[],
): Promise<Prepared> {
  const prepared = new Map(entries.map((entry) => [entry, validPart(entry)]));
  for (const kind of allKinds(roots)) {
    if (!kind.prepare) continue;
    const ofKind = entries.filter((entry) => entry.kind === kind);
    const records = await kind.prepare(
      db,
      ofKind.map((entry) => prepared.get(entry) as Entry),
    );
    for (const [index, entry] of ofKind.entries()) prepared.set(entry, records[index] as Entry);
  }
  return prepared;
}

/**
 * Writes the records, unless one has errors: the caller must then roll back. Returns a row for each, without problems
 * for one inside a record with errors, and the outcome of the first record. An import can have 100,000 records, so the
 * other outcomes are not kept.
 */
export async function applyEntries(
  tx: Transaction,
  { roots }: Pick<RecordStore, 'roots'>,
  prepared: Prepared,
  options: Pick<ChangeContext, 'clientId' | 'isCommand' | 'missing' | 'notes'>,
): Promise<{ readonly rows: readonly ResultRow[]; readonly first: Outcome | undefined }> {
  const entries = [...prepared.keys()];
  const given = new Map(entries.map((entry) => [idOf(entry), entry.record]));
  const findGiven = (kind: string, id: string): Entry | undefined => given.get(`${kind} ${id}`);
  const failed = new Set(entries.filter(({ problems }) => problems.length > 0));
  const rows = new Map<FileEntry, ResultRow>(
    entries.map((entry) => [entry, { path: entry.pointer, action: 'error', problems: entry.problems }]),
  );
  let first: Outcome | undefined;
  const report = (entry: FileEntry, { action }: Outcome, found: readonly PointerError[]): void => {
    const problems = [...entry.problems, ...found.map((one) => located(entry, one))];
    rows.set(entry, { path: entry.pointer, action: problems.length > 0 ? 'error' : action, problems });
    if (problems.length > 0) failed.add(entry);
  };
  for (const kind of allKinds(roots)) {
    const ofKind = entries.filter((entry) => entry.kind === kind);
    for (const entry of ofKind) if (entry.parent && failed.has(entry.parent)) failed.add(entry);
    const isComparable = (entry: FileEntry): boolean =>
      !(entry.parent && failed.has(entry.parent)) && !invalidFields(entry).has('');
    const valid: { readonly entry: FileEntry; readonly outcome: Outcome }[] = [];
    for (const batch of batchesOf(ofKind.filter(isComparable))) {
      const records = batch.map((entry) => prepared.get(entry) as Entry);
      const outcomes = await kind.upsert(tx, records, { ...options, findGiven, isTrial: failed.size > 0 });
      for (const [index, entry] of batch.entries()) {
        const outcome = outcomes[index] as Outcome;
        first ??= outcome;
        const invalid = invalidFields(entry);
        report(
          entry,
          outcome,
          outcome.problems.filter(({ path }) => !invalid.has(fieldOf(path))),
        );
        if (kind.verify && !failed.has(entry)) valid.push({ entry, outcome });
      }
      // Other requests of the process go on between two batches.
      await setImmediate();
    }
    const found = await kind.verify?.(
      tx,
      valid.map(({ outcome }) => outcome),
    );
    for (const [index, problems = []] of found?.entries() ?? []) {
      const { entry, outcome } = valid[index] as (typeof valid)[number];
      report(entry, outcome, problems);
    }
  }
  return { rows: [...rows.values()], first };
}

const fieldOf = (pointer: string): string => (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~');

/** A field with the value of another record is valid by itself. */
const invalidFields = ({ pointer, problems }: FileEntry): ReadonlySet<string> =>
  new Set(problems.flatMap((f) => (f.kind === 'duplicate' ? [] : fieldOf(f.path.slice(pointer.length)))));

function validPart(entry: FileEntry): Entry {
  if (entry.problems.length === 0) return entry.record;
  const invalid = invalidFields(entry);
  const isValid = ([field]: readonly [string, unknown]): boolean => !invalid.has(field);
  const standIns = Object.entries(entry.kind.standIns ?? {}).filter((field) => !isValid(field));
  return Object.fromEntries([...Object.entries(entry.record).filter(isValid), ...standIns]);
}

/** Other records refer to an account by its id, which is not its key. An invalid id refers to nothing. */
const idOf = ({ kind, record }: FileEntry): string => `${kind.name} ${textOf(record.id ?? record[kind.key])}`;

/** `String` fails for an object such as `{ "toString": 1 }`. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the problem with a pointer into the file, which has no field for the record that contains another. */
function located({ kind, pointer, parent }: FileEntry, found: PointerError): PointerError {
  const isInherited = found.path === `/${parent?.kind.children?.parentField}`;
  return atPointer(pointer + (isInherited ? `/${kind.key}` : found.path), found.kind, found.hint, found);
}

const rootKeyOf = ({ kind, record, parent }: FileEntry): string =>
  parent ? rootKeyOf(parent) : textOf(record[kind.key]);

/**
 * Sorts the records by their root and their key, because two transactions that lock rows in the same order cannot wait
 * for each other. The records of one root are in the same batch, so that their kind can sort them as the database does.
 */
function batchesOf(entries: readonly FileEntry[]): readonly (readonly FileEntry[])[] {
  const byRoot = [...Map.groupBy(entries, rootKeyOf)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const batches: FileEntry[][] = [];
  for (const [, ofRoot] of byRoot) {
    const last = batches.at(-1);
    if (last && last.length + ofRoot.length <= batchSize) last.push(...ofRoot);
    else batches.push(ofRoot);
  }
  return batches;
}

/**
 * All or nothing. The response of a dry run says what an import would do. There are no notes of a dry run and of a
 * repeated request.
 * @throws {RejectedImport} unless it is a dry run
 */
export async function importDocument(store: RecordStore, document: unknown, request: ChangeRequest) {
  const { entries, problems } = store.reader.ofFile(document);
  const prepared = await prepareEntries(store, entries);
  let committed: readonly unknown[] | undefined;
  const response = await change({ ...store, isLong: true }, request, async (tx) => {
    const notes: unknown[] = [];
    const { rows } = await applyEntries(tx, store, prepared, { ...request, missing: 'keep', notes });
    const found = [...problems, ...rows.flatMap((row) => row.problems)];
    if (found.length > 0 && !request.dryRun) throw new RejectedImport(found);
    const ofFile: readonly ResultRow[] = problems.length > 0 ? [{ path: '', action: 'error', problems }] : [];
    const onCommit = (): void => {
      committed = notes;
    };
    return { status: 200, body: { entries: store.errors.entries([...ofFile, ...rows.map(withReason)]) }, onCommit };
  });
  return { response, notes: committed };
}

const withReason = (row: ResultRow): ResultRow =>
  row.action !== 'error' || row.problems.length > 0
    ? row
    : { ...row, problems: [atPointer(row.path, 'conflict', 'belongs to a record that has errors')] };

/** An import file with everything. */
export async function exportDocument(
  { db, roots, lock }: Pick<RecordStore, 'db' | 'roots' | 'lock'>,
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

async function nested(tx: Transaction, kind: AnyKind, options: Entry): Promise<readonly Entry[]> {
  const records = (await kind.readAll(tx, options)) as readonly Entry[];
  if (!kind.children) return records;
  const { field, kind: childKind, parentField } = kind.children;
  const byParent = Map.groupBy(await nested(tx, childKind, options), (child) => child[parentField]);
  return records.map((record) => {
    const inside = byParent.get(record[kind.key]) ?? [];
    return { ...record, [field]: inside.map(({ [parentField]: _, ...child }) => child) };
  });
}
