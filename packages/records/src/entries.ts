// Finds the records of an import file, or those of a PUT, and validates each of them.
import type { Schema } from '@bay-booking/common/endpoint';
import { createAjv, type Formats, timeOfDayPattern, validationMessage } from '@bay-booking/common/validation';
import type { ErrorObject } from 'ajv/dist/2020.js';
import { type AnyKind, type Entry, type Problem, problem } from './record.ts';

/** A record of a file. */
export interface FileEntry {
  readonly kind: AnyKind;
  /** The JSON Pointer of the record. */
  readonly pointer: string;
  readonly record: Entry;
  /** The entry that contains this one. */
  readonly parent: FileEntry | undefined;
  /** The pointers lead into the file. */
  readonly problems: Problem[];
}

export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

export const keyOf = ({ kind, record }: FileEntry): string => String(record[kind.key]);

const isObject = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns an entry before those that it contains. An entry that is not an object has no record. */
function flatten(kind: AnyKind, value: unknown, pointer: string, parent?: FileEntry): readonly FileEntry[] {
  if (!isObject(value)) {
    const problems = [problem(pointer, 'invalid', 'must be object')];
    return [{ kind, pointer, record: {}, parent, problems }];
  }
  const { children } = kind;
  const problems: Problem[] = [];
  let record = value;
  const inherited = parent?.kind.children?.parentField;
  if (inherited !== undefined) {
    if (Object.hasOwn(value, inherited)) problems.push(problem(`${pointer}/${inherited}`, 'unknown', 'is not known'));
    record = { ...value, [inherited]: parent?.record[parent.kind.key] };
  }
  if (!children) return [{ kind, pointer, record, parent, problems }];
  const { [children.field]: inside = [], ...own } = record;
  const entry = { kind, pointer, record: own, parent, problems };
  const path = `${pointer}/${children.field}`;
  if (!Array.isArray(inside)) {
    problems.push(problem(path, 'invalid', 'must be array'));
    return [entry];
  }
  return [entry, ...inside.flatMap((child, index) => flatten(children.kind, child, `${path}/${index}`, entry))];
}

/** Returns a function that compiles a schema to a function that finds the problems of a value. */
function createCompiler(formats: Formats): (schema: object) => (value: unknown) => readonly Problem[] {
  const ajv = createAjv(formats);
  return (schema) => {
    const isValid = ajv.compile(schema);
    return (value) => (isValid(value) ? [] : problemsOf(isValid.errors ?? [], formats));
  };
}

/** `roots` are the sections of a file, in the order in which they are written. */
export function createEntryReader(roots: readonly AnyKind[], formats: Formats, mandatory: readonly string[] = []) {
  const compile = createCompiler(formats);
  const fileSchema = (elementsOf: (kind: AnyKind) => Schema) => ({
    type: 'object',
    required: mandatory,
    additionalProperties: false,
    properties: Object.fromEntries(roots.map((kind) => [kind.collection, { type: 'array', items: elementsOf(kind) }])),
  });
  const findFileProblems = compile(fileSchema(() => ({})));
  const validators = new Map(allKinds(roots).map((kind) => [kind, compile(inputSchema(kind))]));

  function validate(entries: readonly FileEntry[]): readonly FileEntry[] {
    for (const { kind, pointer, record, parent, problems } of entries) {
      // It is not an object.
      if (problems[0]?.pointer === pointer) continue;
      const inherited = parent && `/${parent.kind.children?.parentField}`;
      const errors = validators.get(kind)?.(record) ?? [];
      for (const { pointer: inside, ...error } of [...errors, ...(kind.check?.(record) ?? [])])
        if (inside !== inherited) problems.push({ ...error, pointer: pointer + inside });
    }
    findDuplicates(entries);
    return entries;
  }

  return {
    compile,
    fileSchema: fileSchema((kind) => schemasOf(kind).entry),
    /** The body of a PUT, whose first entry is the record itself. */
    ofRecord: (kind: AnyKind, body: Entry) => validate(flatten(kind, body, '')),
    /** Finds every error that needs no database. The problems are those of the file itself. */
    ofFile: (document: unknown) => {
      const sections: Entry = isObject(document) ? document : {};
      const entries = roots.flatMap((kind) => {
        const section = sections[kind.collection];
        return Array.isArray(section)
          ? section.flatMap((value, index) => flatten(kind, value, `/${kind.collection}/${index}`))
          : [];
      });
      return { entries: validate(entries), problems: findFileProblems(document) };
    },
  };
}

export type EntryReader = ReturnType<typeof createEntryReader>;

/** Returns each kind before the kinds of the records that it contains. */
export const allKinds = (roots: readonly AnyKind[]): readonly AnyKind[] =>
  roots.flatMap((kind) => [kind, ...allKinds(kind.children ? [kind.children.kind] : [])]);

/** What a file or a PUT may contain, without the records inside. */
function inputSchema({ schema, optional = [], readOnly = [] }: AnyKind) {
  const required = (schema.required as readonly string[]).filter((name) => ![...optional, ...readOnly].includes(name));
  return { ...schema, required };
}

/** The schemas of OpenAPI. `entry` is an element of an import file, `body` that of a PUT. */
export function schemasOf(kind: AnyKind): { readonly record: Schema; readonly entry: Schema; readonly body: Schema } {
  const input = inputSchema(kind);
  const { children } = kind;
  const inside = children && withoutField(schemasOf(children.kind).entry, children.parentField);
  const entry = children
    ? { ...input, properties: { ...input.properties, [children.field]: { type: 'array', items: inside } } }
    : input;
  const required = input.required.filter((name) => name !== kind.key);
  return { record: kind.schema, entry, body: { ...entry, required } };
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
      else problems.push(problem(`${pointer}/${field}`, 'duplicate', `is the same as ${earlier}`));
    }
  }
}

function problemsOf(errors: readonly ErrorObject[], formats: Formats): readonly Problem[] {
  return errors.map((error) => {
    const { keyword, instancePath, params } = error;
    if (keyword === 'required') return problem(`${instancePath}/${escapePointer(params.missingProperty)}`, 'missing');
    if (keyword === 'additionalProperties')
      return problem(`${instancePath}/${escapePointer(params.additionalProperty)}`, 'unknown', 'is not known');
    return problem(instancePath, 'invalid', hintOf(error, formats));
  });
}

function hintOf(error: ErrorObject, formats: Formats): string {
  const { keyword, params } = error;
  if (keyword === 'format') return formats[String(params.format)]?.hint ?? validationMessage(error);
  if (keyword !== 'pattern') return validationMessage(error);
  // The other patterns only exclude characters.
  return params.pattern === timeOfDayPattern ? 'must be a time such as 07:30' : 'has a character that is not allowed';
}
