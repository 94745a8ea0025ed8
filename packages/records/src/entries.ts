// Finds the records of an import file, or those of a PUT, and validates each of them.

import type { Schema } from '@bay-booking/common/endpoint';
import {
  atPointer,
  createCompiler,
  type Formats,
  type PointerError,
  pointerErrorsOf,
} from '@bay-booking/common/validation';
import { isObject } from '@bay-booking/service/http/request-body';
import type { AnyKind, Entry } from './record.ts';

/** A record of a file. */
export interface FileEntry {
  readonly kind: AnyKind;
  /** The JSON Pointer of the record. */
  readonly pointer: string;
  readonly record: Entry;
  /** The entry that contains this one. */
  readonly parent: FileEntry | undefined;
  /** The pointers lead into the file. */
  readonly problems: PointerError[];
}

/** Returns an entry before those that it contains. The field `parentField` of a record names its parent. */
function flatten(kind: AnyKind, value: unknown, pointer: string, parent?: FileEntry): readonly FileEntry[] {
  const { children } = kind;
  const inherited = parent?.kind.children && { [parent.kind.children.parentField]: parent.record[parent.kind.key] };
  const record = { ...(isObject(value) && value), ...inherited };
  if (!children) return [{ kind, pointer, record, parent, problems: [] }];
  const { [children.field]: inside, ...own } = record as Entry;
  const entry = { kind, pointer, record: own, parent, problems: [] };
  return [entry, ...flattenAll(children.kind, inside, `${pointer}/${children.field}`, entry)];
}

const flattenAll = (kind: AnyKind, values: unknown, pointer: string, parent?: FileEntry): readonly FileEntry[] =>
  Array.isArray(values) ? values.flatMap((value, index) => flatten(kind, value, `${pointer}/${index}`, parent)) : [];

/** `roots` are the sections of a file, in the order in which they are written. */
export function createEntryReader(roots: readonly AnyKind[], formats: Formats, mandatory: readonly string[] = []) {
  const createCheck = createCompiler(formats);
  /** Returns a function that finds the problems of a value. */
  const compile = (schema: object): ((value: unknown) => readonly PointerError[]) => {
    const findErrors = createCheck(schema);
    return (value) => pointerErrorsOf(findErrors(value));
  };
  const fileSchema: Schema = {
    type: 'object',
    required: mandatory,
    additionalProperties: false,
    properties: Object.fromEntries(
      roots.map((kind) => [kind.collection, { type: 'array', items: schemasOf(kind).entry }]),
    ),
  };
  const validateFile = compile(fileSchema);
  const validators = new Map(allKinds(roots).map((kind) => [kind, compile(schemasOf(kind).entry)]));

  /** Adds every problem that needs no database to the innermost entry that has it, and returns those of the file. */
  function addProblems(entries: readonly FileEntry[], found: readonly PointerError[]): readonly PointerError[] {
    const byPointer = new Map(found.length > 0 ? entries.map((entry) => [entry.pointer, entry]) : []);
    const ofFile: PointerError[] = [];
    for (const one of found) {
      let pointer = one.path;
      while (pointer !== '' && !byPointer.has(pointer)) pointer = pointer.slice(0, pointer.lastIndexOf('/'));
      const problems = byPointer.get(pointer)?.problems ?? ofFile;
      problems.push(one);
    }
    for (const { kind, record, pointer, problems } of entries)
      for (const one of kind.check?.(record) ?? [])
        problems.push(atPointer(pointer + one.path, one.kind, one.hint, one));
    findDuplicates(entries);
    return ofFile;
  }

  return {
    compile,
    fileSchema,
    /** The body of a PUT, whose first entry is the record itself. */
    ofRecord: (kind: AnyKind, body: Entry): readonly FileEntry[] => {
      const entries = flatten(kind, body, '');
      addProblems(entries, validators.get(kind)?.(body) ?? []);
      return entries;
    },
    /** The problems are those of the file itself. */
    ofFile: (document: unknown) => {
      const sections: Entry = isObject(document) ? document : {};
      const entries = roots.flatMap((kind) => flattenAll(kind, sections[kind.collection], `/${kind.collection}`));
      return { entries, problems: addProblems(entries, validateFile(document)) };
    },
  };
}

export type EntryReader = ReturnType<typeof createEntryReader>;

/** Returns each kind before the kinds of the records that it contains. */
export const allKinds = (roots: readonly AnyKind[]): readonly AnyKind[] =>
  roots.flatMap((kind) => [kind, ...allKinds(kind.children ? [kind.children.kind] : [])]);

/** The schemas of OpenAPI. `entry` is an element of an import file, `body` that of a PUT. */
export function schemasOf(kind: AnyKind): { readonly record: Schema; readonly entry: Schema; readonly body: Schema } {
  const { schema, children, optional = [] } = kind;
  const required = (schema.required as readonly string[]).filter((name) => !optional.includes(name));
  const input = { ...schema, required };
  const inside = children && withoutField(schemasOf(children.kind).entry, children.parentField);
  const entry = children
    ? { ...input, properties: { ...input.properties, [children.field]: { type: 'array', items: inside } } }
    : input;
  return { record: schema, entry, body: { ...entry, required: required.filter((name) => name !== kind.key) } };
}

function withoutField(schema: Schema, field: string): Schema {
  const { [field]: _, ...properties } = schema.properties as Entry;
  return { ...schema, properties, required: (schema.required as string[]).filter((name) => name !== field) };
}

function findDuplicates(entries: readonly FileEntry[]): void {
  const first = new Map<string, string>();
  for (const { kind, pointer, record, problems } of entries) {
    for (const [field, normalize] of Object.entries({ [kind.key]: String, ...kind.unique })) {
      const value = record[field];
      if (typeof value !== 'string') continue;
      const id = JSON.stringify([kind.name, field, normalize(value)]);
      const earlier = first.get(id);
      if (earlier === undefined) first.set(id, `${pointer}/${field}`);
      else problems.push(atPointer(`${pointer}/${field}`, 'duplicate', `is the same as ${earlier}`));
    }
  }
}
