// How do statements go over the wire? One or several at once with a single Sync, prepared under a name on first use, and described only
// then: the columns of a prepared statement never change (PostgreSQL refuses them instead). A query of its own kind for pg, as its
// cursors are; chapter "Frontend/Backend Protocol" of PostgreSQL's manual, "Extended Query" and "Pipelining".
import { types as defaultTypes } from 'pg';
import { prepareValue } from 'pg/lib/utils.js';
import { serialize } from 'pg-protocol';

export interface TypeParsers {
  getTypeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown;
}

export interface BatchStatement {
  readonly sql: string;
  readonly values: readonly unknown[];
  /** Under which the connection keeps it; undefined: prepared anew each time. */
  readonly name: string | undefined;
  readonly types: TypeParsers | undefined;
}

type Row = Record<string, unknown>;
type Field = { readonly name: string; readonly dataTypeID: number };

interface Reader {
  readonly types: TypeParsers | undefined;
  readonly read: (fields: readonly (string | null)[]) => Row;
}

/** What pg calls a connection. */
interface Wire {
  readonly stream: { readonly writable: boolean; write(bytes: Buffer): void };
  /** Ours: of the statements that this connection has prepared. */
  readers?: Map<string, Reader>;
  sendCopyFail(message: string): void;
}

export interface Answered {
  readonly rows: readonly Row[];
  /** What was done, such as COMMIT. */
  readonly command: string;
}

export type Settle = (error: unknown, answers: readonly Answered[]) => void;

const noColumns: Reader = { types: undefined, read: () => ({}) };

export class Batch {
  /** What is run, and whom to tell, under the names of pg's own queries: a tracer looks there. */
  readonly text: string;
  callback: Settle;
  readonly #statements: readonly BatchStatement[];
  readonly #answers: Answered[] = [];
  #settled = false;
  #readers: Map<string, Reader> | undefined;
  #reader: Reader | undefined;
  #rows: Row[] = [];
  #unreadable: unknown;

  /** `callback` is called once. */
  constructor(statements: readonly BatchStatement[], callback: Settle) {
    this.text = statements.length === 1 ? (statements[0]?.sql ?? '') : statements.map(({ sql }) => sql).join(';\n');
    this.callback = callback;
    this.#statements = statements;
  }

  submit(wire: Wire): void {
    wire.readers ??= new Map();
    this.#readers = wire.readers;
    const messages: Buffer[] = [];
    try {
      for (const statement of this.#statements) this.#write(statement, messages, wire.readers);
    } catch (error) {
      // Nothing was sent; whoever comes next may.
      messages.length = 0;
      this.handleError(error);
    }
    messages.push(serialize.sync());
    if (wire.stream.writable) wire.stream.write(Buffer.concat(messages));
  }

  #write({ sql, values, name, types }: BatchStatement, messages: Buffer[], readers: ReadonlyMap<string, Reader>): void {
    const reader = name === undefined ? undefined : readers.get(name);
    const known = reader !== undefined && reader.types === types;
    if (!known) {
      // A try that failed before may have left it prepared.
      if (name !== undefined) messages.push(serialize.close({ type: 'S', name }));
      messages.push(serialize.parse({ text: sql, ...(name !== undefined && { name }) }));
    }
    messages.push(serialize.bind({ statement: name ?? '', values: values as unknown[], valueMapper: prepareValue }));
    if (!known) messages.push(serialize.describe({ type: 'P' }));
    messages.push(serialize.execute());
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    const types = this.#statements[this.#answers.length]?.types;
    this.#reader = { types, read: readerOf(fields, types ?? (defaultTypes as TypeParsers)) };
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    try {
      this.#reader ??= this.#known();
      this.#rows.push(this.#reader.read(fields));
    } catch (error) {
      this.#unreadable ??= error;
    }
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const { name, types } = this.#statements[this.#answers.length] ?? {};
    if (name !== undefined && this.#readers && !this.#readers.has(name))
      this.#readers.set(name, this.#reader ?? { ...noColumns, types });
    this.#answers.push({ rows: this.#rows, command: text });
    this.#rows = [];
    this.#reader = undefined;
  }

  handleReadyForQuery(): void {
    this.#end(this.#unreadable);
  }

  handleError(error: unknown): void {
    this.#end(error);
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' });
  }

  handlePortalSuspended(): void {}

  handleCopyInResponse(wire: Wire): void {
    wire.sendCopyFail('nothing to copy');
  }

  handleCopyData(): void {}

  #known(): Reader {
    const name = this.#statements[this.#answers.length]?.name;
    return (name !== undefined && this.#readers?.get(name)) || noColumns;
  }

  #end(error: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    this.callback(error, this.#answers);
  }
}

function readerOf(fields: readonly Field[], types: TypeParsers): Reader['read'] {
  const names = fields.map(({ name }) => name);
  const parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text'));
  return (values) => {
    const row: Row = {};
    for (let at = 0; at < names.length; at += 1) {
      const value = values[at] ?? null;
      row[names[at] as string] = value === null ? null : parsers[at]?.(value);
    }
    return row;
  };
}
