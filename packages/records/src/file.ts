// Defines import files: reads their records, finds every error of their form, and writes a file of everything.
import { setImmediate } from 'node:timers/promises';
import type { Schema } from '@bay-booking/common/endpoint';
import { atPointer, createPointerValidator, isObject, type PointerError } from '@bay-booking/common/validation';
import type { Queryable, Transaction } from '@bay-booking/service/database/database';
import {
  createRepetitionFinder,
  type Fields,
  inputSchema,
  type RecordKind,
  type RecordOutcome,
  type RecordStore,
  withoutInvalid,
} from './record.ts';

/** A record of a file. */
export interface FileEntry {
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
export const batchSize = 500;

/** In a file, a record inside another record does not name that record. */
function entrySchema(kind: RecordKind) {
  const field = kind.parent?.field ?? '';
  const { [field]: _, ...properties } = kind.schema.properties;
  return { ...inputSchema(kind, field), properties };
}

export type ImportFiles = ReturnType<typeof createImportFiles>;

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
