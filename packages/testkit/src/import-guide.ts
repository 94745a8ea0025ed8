// Reads the tables of docs/import.md, so that tests can compare them with the JSON Schemas of the import files.
import { read } from './repository.ts';

/** The names of the fields in alphabetical order. The name of a mandatory field is followed by `*`. */
export type Fields = readonly string[];

/** Returns the documented fields of each kind of object in an import file. The keys are texts such as `a facility`. */
export function documentedFields(service: 'Auth' | 'Bookings'): Readonly<Record<string, Fields>> {
  const section =
    read('docs/import.md')
      .split(/^## /m)
      .find((text) => text.startsWith(`${service}\n`)) ?? '';
  // Finds each table whose first heading is, for example, `field of a facility`. Captures `a facility` and the rows
  // below the heading. The first of these rows is the line of dashes, which contains no names.
  const tables = section.matchAll(/^\| field of ([\w ]+) \|.*\n((?:\|.*\n)+)/gm);
  return Object.fromEntries(
    Array.from(tables, ([, object, rows = '']) => [
      object,
      [...rows.matchAll(/^\|([^|]*)\|/gm)].flatMap(([, cell = '']) => namesIn(cell)).toSorted(),
    ]),
  );
}

/** Returns the names of the fields of a schema, sorted, with `*` after the name of each mandatory field. */
export const fieldsOf = (schema: { readonly properties: object; readonly required?: readonly string[] }): Fields =>
  Object.keys(schema.properties)
    .map((name) => (schema.required?.includes(name) ? `${name}*` : name))
    .toSorted();

/** Finds the names in backticks in a table cell, and the `*` after the name of a mandatory field. */
const namesIn = (cell: string): Fields => [...cell.matchAll(/`(\w+)`(\*?)/g)].map(([, name, star]) => `${name}${star}`);
