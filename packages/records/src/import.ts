// Imports and exports files in one transaction each.
import { setImmediate } from 'node:timers/promises';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import type { Transaction } from '@bay-booking/service/database/database';
import { batchSize, type FileEntry, type ImportFiles } from './file.ts';
import {
  type ChangeContext,
  type ChangeRequest,
  change,
  commit,
  type Fields,
  type Operator,
  once,
  type RecordContext,
  type RecordOutcome,
  type RecordStore,
  toWrite,
} from './record.ts';

/** Nothing was imported. */
export class RejectedImport extends Error {
  readonly problems: readonly PointerError[];
  constructor(problems: readonly PointerError[]) {
    super('the file has errors');
    this.problems = problems;
  }
}

export interface ImportStore extends RecordStore {
  readonly files: ImportFiles;
}

/**
 * All or nothing. The response of a dry run says what an import would do. A repeated request is not validated again.
 * @throws {RejectedImport} unless it is a dry run
 */
export const importDocument = (
  store: ImportStore,
  document: unknown,
  request: ChangeRequest,
  isCommand = false,
): Promise<EndpointResponse> =>
  once(store, request, async () => {
    const { problems, entries } = await store.files.read(store.db, document);
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

/** The body is an import file with everything. Nothing changes between the statements. */
export const exportDocument = (store: ImportStore, options: Fields, operator: Operator): Promise<EndpointResponse> =>
  change(store, { ...operator, dryRun: false }, async (tx, context) => {
    await store.auditExport?.(tx, options, context);
    return { status: 200, body: await store.files.write(tx, options) };
  });

/**
 * Writes the records and sets `action` and `problems` of their entries. If there are problems, the caller must roll
 * back.
 */
async function applyEntries(
  tx: Transaction,
  { kinds }: RecordStore,
  entries: readonly FileEntry[],
  context: RecordContext,
): Promise<void> {
  // The transaction may run for the second time.
  for (const entry of entries) Object.assign(entry, { action: 'error', problems: [] });
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
      for (const [index, entry] of batch.entries()) {
        const outcome = outcomes[index] as RecordOutcome;
        report(entry, outcome, outcome.problems);
        // An import can have 100,000 records, so the other outcomes are not kept.
        if (kind.verify && entry.action !== 'error') unverified.push({ entry, outcome });
      }
      await setImmediate();
    }
    const found = await kind.verify?.(
      tx,
      unverified.map(({ outcome }) => outcome),
    );
    for (const [index, { entry, outcome }] of unverified.entries()) report(entry, outcome, found?.[index] ?? []);
  }
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
