// Imports and exports files: reads their records, finds every error of their form, and writes them in one transaction.
import { setImmediate } from 'node:timers/promises';
import type { EndpointResponse, Schema } from '@bay-booking/common/endpoint';
import { atPointer, createPointerValidator, isObject, type PointerError } from '@bay-booking/common/validation';
import type { Queryable, Transaction } from '@bay-booking/service/database/database';
import {
  type ChangeContext,
  type ChangeRequest,
  change,
  commit,
  createRepetitionFinder,
  type Fields,
  inputSchema,
  type Operator,
  once,
  type RecordContext,
  type RecordKind,
  type RecordOutcome,
  type RecordStore,
  toWrite,
  withoutInvalid,
} from './record.ts';

/** A record of a file. */
interface FileEntry {
  readonly kind: RecordKind;
  /** The JSON Pointer of the record. */
  readonly pointer: string;
  record: Fields;
  /** The entry that contains this one. */
  readonly parent: FileEntry | undefined;
  /** `error` until the record was written, or was found to be unchanged. */
  action: RecordOutcome['action'] | 'error';
  /** The pointers lead into the file. */
  problems: PointerError[];
}

/** So many are checked or written before other requests of the process go on. */
const batchSize = 500;

/** In a file, a record inside another record does not name that record. */
function entrySchema(kind: RecordKind) {
  const field = kind.parent?.field ?? '';
  const { [field]: _, ...properties } = kind.schema.properties;
  return { ...inputSchema(kind, field), properties };
}

/** `mandatory` are the collections that a file must have. */
export function createImportFiles({ kinds, formats }: RecordStore, mandatory: readonly string[] = []) {
  const compile = createPointerValidator(formats);
  const roots = kinds.filter(({ parent }) => !parent);
  /** The kind of the records inside a record. */
  const innerKind = ({ name }: RecordKind) => kinds.find(({ parent }) => parent?.name === name);
  const nestedSchema = (kind: RecordKind): Schema => {
    const schema = entrySchema(kind);
    const inner = innerKind(kind);
    if (!inner?.parent) return schema;
    const contained = { [inner.parent.list]: { type: 'array', items: nestedSchema(inner) } };
    return { ...schema, properties: { ...schema.properties, ...contained } };
  };
  const sections = (items: (kind: RecordKind) => Schema) => ({
    type: 'object',
    required: mandatory,
    additionalProperties: false,
    properties: Object.fromEntries(
      roots.map((kind) => [kind.collection, { type: 'array', items: items(kind) }] as const),
    ),
  });
  const findFileProblems = compile(sections(() => ({})));
  const validators = new Map(kinds.map((kind) => [kind, compile(entrySchema(kind))]));

  /** Yields the entry of a value and then those of the records in it, which also get the field that names it. */
  function* entriesOf(kind: RecordKind, value: unknown, pointer: string, parent?: FileEntry): Generator<FileEntry> {
    const inner = innerKind(kind);
    const list = inner?.parent?.list ?? '';
    const fields: Fields = isObject(value) ? value : {};
    const { [list]: inside = [], ...others } = fields;
    // A field can have the name ''.
    const own = inner ? others : fields;
    const found = validators.get(kind)?.(isObject(value) ? own : value) ?? [];
    const problems = found.map((problem) => within(pointer, problem));
    const inherited = kind.parent && parent && { [kind.parent.field]: parent.record[parent.kind.key] };
    const record = { ...own, ...inherited };
    const entry: FileEntry = { kind, pointer, record, parent, action: 'error', problems };
    yield entry;
    if (!inner) return;
    const path = `${pointer}/${list}`;
    if (!Array.isArray(inside)) return void problems.push(atPointer(path, 'invalid', 'must be array'));
    for (const [index, child] of inside.entries()) yield* entriesOf(inner, child, `${path}/${index}`, entry);
  }

  /** Adds the problems that a schema cannot express and does the slow work before the transaction. */
  async function complete(db: Queryable, entries: readonly FileEntry[]): Promise<void> {
    const findRepeated = createRepetitionFinder();
    for (const [index, { kind, pointer, record, problems }] of entries.entries()) {
      for (const [field, normalize] of Object.entries({ [kind.key]: String, ...kind.unique })) {
        const value = record[field];
        if (typeof value !== 'string') continue;
        const id = JSON.stringify([kind.name, field, normalize(value)]);
        problems.push(...findRepeated(`${pointer}/${field}`, id));
      }
      if (index % batchSize === 0) await setImmediate();
    }
    for (const kind of kinds) {
      const ofKind = entries.filter((entry) => entry.kind === kind);
      const records = ofKind.map(({ record, pointer, problems }) => withoutInvalid(record, pointer, problems));
      const prepared = await kind.prepare?.(db, records, { keepsOmitted: true });
      for (const [index, { record, problems }] of prepared?.entries() ?? []) {
        const entry = ofKind[index] as FileEntry;
        entry.record = record as Fields;
        entry.problems.push(...problems.map((found) => within(entry.pointer, found)));
      }
    }
  }

  async function readNested(tx: Transaction, kind: RecordKind, options: Fields): Promise<readonly Fields[]> {
    const records = (await kind.readAll(tx, options)) as readonly Fields[];
    const inner = innerKind(kind);
    if (!inner?.parent) return records;
    const { field, list } = inner.parent;
    const byParent = Map.groupBy(await readNested(tx, inner, options), (child) => child[field]);
    return records.map((record) => {
      const inside = byParent.get(record[kind.key]) ?? [];
      return { ...record, [list]: inside.map(({ [field]: _, ...child }) => child) };
    });
  }

  return {
    schema: sections(nestedSchema) as Schema,
    example: Object.fromEntries(roots.map(({ collection, example }) => [collection, [example]])),
    /** Everything that is stored. */
    write: async (tx: Transaction, options: Fields) => {
      const document: Record<string, readonly Fields[]> = {};
      for (const kind of roots) document[kind.collection] = await readNested(tx, kind, options);
      return document;
    },
    /** The problems are those of the file itself. */
    read: async (db: Queryable, document: unknown) => {
      const given: Fields = isObject(document) ? document : {};
      const withoutRecords = Object.entries(given).map(([name, value]) => [name, Array.isArray(value) ? [] : value]);
      const problems = findFileProblems(isObject(document) ? Object.fromEntries(withoutRecords) : document);
      const entries: FileEntry[] = [];
      for (const kind of roots) {
        const values = given[kind.collection];
        for (const [index, value] of Array.isArray(values) ? values.entries() : [])
          for (const entry of entriesOf(kind, value, `/${kind.collection}/${index}`)) {
            entries.push(entry);
            if (entries.length % batchSize === 0) await setImmediate();
          }
      }
      await complete(db, entries);
      return { problems, entries };
    },
  };
}

/** Returns the problem of a record with pointers into the file. The hint of a repeated value has one too. */
const within = (pointer: string, { path, hint, ...found }: PointerError): PointerError => ({
  ...found,
  path: pointer + path,
  hint: found.kind === 'duplicate' ? hint.replace('/', `${pointer}/`) : hint,
});

/** Nothing was imported. */
export class RejectedImport extends Error {
  readonly problems: readonly PointerError[];
  constructor(problems: readonly PointerError[]) {
    super('the file has errors');
    this.problems = problems;
  }
}

export interface ImportStore extends RecordStore {
  readonly files: ReturnType<typeof createImportFiles>;
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
