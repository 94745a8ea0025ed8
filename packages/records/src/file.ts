// Defines import files: reads their records, finds every error of their form, and writes a file of everything.
import { setImmediate } from 'node:timers/promises';
import type { Schema } from '@bay-booking/common/endpoint';
import {
  atPointer,
  createCompiler,
  type Formats,
  isObject,
  type PointerError,
  pointerErrorsOf,
} from '@bay-booking/common/validation';
import type { Queryable, Transaction } from '@bay-booking/service/database/database';
import type { Fields, PrepareContext, RecordKind } from './record.ts';

/** A record of a file, or of a PUT. */
export interface FileEntry {
  readonly kind: RecordKind;
  /** The JSON Pointer of the record. */
  readonly pointer: string;
  record: Fields;
  /** The entry that contains this one. */
  readonly parent: FileEntry | undefined;
  /** The pointers lead into the file. */
  readonly problems: PointerError[];
}

/** So many are checked or written before other requests of the process go on. */
export const batchSize = 500;

/** Returns each kind before the kind of the records that it contains. */
export const allKinds = (roots: readonly RecordKind[]): readonly RecordKind[] =>
  roots.flatMap((kind) => [kind, ...allKinds(kind.children ? [kind.children.kind] : [])]);

/** `body` is that of a PUT, `input` a record alone, and `entry` an element of an import file, with what it contains. */
export function schemasOf({ schema, optional = [], children, key }: RecordKind) {
  const required = (schema.required as readonly string[]).filter((name) => !optional.includes(name));
  const input: Schema = { ...schema, required };
  const body: Schema = { ...schema, required: required.filter((name) => name !== key) };
  const contained = children && {
    [children.field]: { type: 'array', items: withoutField(schemasOf(children.kind).entry, children.parentField) },
  };
  const entry: Schema = { ...input, properties: { ...schema.properties, ...contained } };
  return { record: schema, body, input, entry };
}

function withoutField(schema: Schema, field: string): Schema {
  const { [field]: _, ...properties } = schema.properties as Fields;
  return { ...schema, properties, required: (schema.required as string[]).filter((name) => name !== field) };
}

/** `roots` are the sections of a file, in the order of writing. */
export function createEntryReader(roots: readonly RecordKind[], formats: Formats, mandatory: readonly string[] = []) {
  const createCheck = createCompiler(formats);
  /** Returns a function that finds the problems of a value. */
  const compile = (schema: object): ((value: unknown) => readonly PointerError[]) => {
    const findErrors = createCheck(schema);
    return (value) => pointerErrorsOf(findErrors(value));
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
  const validators = new Map(allKinds(roots).map((kind) => [kind, compile(schemasOf(kind).input)]));
  // A record inside another one does not name it.
  const insideValidators = new Map(
    allKinds(roots).flatMap(({ children }) =>
      children ? [[children.kind, compile(withoutField(schemasOf(children.kind).input, children.parentField))]] : [],
    ),
  );

  /** Yields the entry of a value and then those of the records in it, which also get the field that names it. */
  function* entriesOf(kind: RecordKind, value: unknown, pointer: string, parent?: FileEntry): Generator<FileEntry> {
    const { children } = kind;
    const { [children?.field ?? '']: inside = [], ...own }: Fields = isObject(value) ? value : {};
    const findProblems = parent ? insideValidators.get(kind) : validators.get(kind);
    const problems = findProblems?.(isObject(value) ? own : value).map((found) => within(pointer, found)) ?? [];
    const inherited = parent?.kind.children && { [parent.kind.children.parentField]: parent.record[parent.kind.key] };
    const entry = { kind, pointer, record: { ...own, ...inherited }, parent, problems };
    yield entry;
    if (!children) return;
    const inner = `${pointer}/${children.field}`;
    if (!Array.isArray(inside)) return void problems.push(atPointer(inner, 'invalid', 'must be array'));
    for (const [index, child] of inside.entries()) yield* entriesOf(children.kind, child, `${inner}/${index}`, entry);
  }

  /** Adds the problems that a schema cannot express and does the slow work before the transaction. */
  async function complete(
    db: Queryable,
    entries: readonly FileEntry[],
    context: PrepareContext,
  ): Promise<readonly FileEntry[]> {
    const first = new Map<string, string>();
    for (const [index, { kind, pointer, record, problems }] of entries.entries()) {
      for (const [field, normalize] of Object.entries({ [kind.key]: String, ...kind.unique })) {
        const value = record[field];
        if (typeof value !== 'string') continue;
        const id = JSON.stringify([kind.name, field, normalize(value)]);
        const earlier = first.get(id);
        if (earlier === undefined) first.set(id, `${pointer}/${field}`);
        else problems.push(atPointer(`${pointer}/${field}`, 'duplicate', `is the same as ${earlier}`));
      }
      if (index % batchSize === 0) await setImmediate();
    }
    for (const kind of allKinds(roots)) {
      const ofKind = entries.filter((entry) => entry.kind === kind);
      const prepared = await kind.prepare?.(db, ofKind.map(withoutInvalid), context);
      for (const [index, { record, problems }] of prepared?.entries() ?? []) {
        const entry = ofKind[index] as FileEntry;
        entry.record = record as Fields;
        entry.problems.push(...problems.map((found) => within(entry.pointer, found)));
      }
    }
    return entries;
  }

  return {
    fileSchema: sections((kind) => schemasOf(kind).entry) as Schema,
    /** The body of a PUT, which contains no other records. */
    ofRecord: (db: Queryable, kind: RecordKind, record: Fields, context: PrepareContext) => {
      const problems = [...(validators.get(kind)?.(record) ?? [])];
      return complete(db, [{ kind, pointer: '', record, parent: undefined, problems }], context);
    },
    /** The problems are those of the file itself. */
    ofFile: async (db: Queryable, document: unknown, context: PrepareContext) => {
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
      return { problems, entries: await complete(db, entries, context) };
    },
  };
}

/** The record with undefined in place of the fields that have problems, so that its other fields are judged too. */
function withoutInvalid({ record, pointer, problems }: FileEntry): Fields {
  if (problems.length === 0) return record;
  const names = problems.map(({ path }) => path.slice(pointer.length).split('/')[1] ?? '');
  const invalid = names.map((name) => [name.replaceAll('~1', '/').replaceAll('~0', '~'), undefined]);
  return { ...record, ...Object.fromEntries(invalid) };
}

export type EntryReader = ReturnType<typeof createEntryReader>;

const within = (pointer: string, found: PointerError): PointerError => ({ ...found, path: pointer + found.path });

/** Reads everything, with the records that a record contains. */
export async function readNested(tx: Transaction, kind: RecordKind, options: Fields): Promise<readonly Fields[]> {
  const records = (await kind.readAll(tx, options)) as readonly Fields[];
  if (!kind.children) return records;
  const { field, kind: childKind, parentField } = kind.children;
  const children = await readNested(tx, childKind, options);
  const byParent = Map.groupBy(children, (child) => child[parentField]);
  return records.map((record) => {
    const inside = byParent.get(record[kind.key]) ?? [];
    return { ...record, [field]: inside.map(({ [parentField]: _, ...child }) => child) };
  });
}
