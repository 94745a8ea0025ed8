// Writes the list of a response as CSV (RFC 4180), which spreadsheets open.
import type { Endpoint } from '@bay-booking/common/endpoint';
import { stringify } from 'csv-stringify/sync';
import type { Request } from 'express';

/** Returns undefined if the endpoint has no `tableField`. */
export function createCsvWriter({ tableField, success }: Endpoint<never>): ((body: unknown) => string) | undefined {
  if (tableField === undefined) return undefined;
  const lists = success.schema?.properties as Readonly<Record<string, { readonly items: { properties: object } }>>;
  const columns = Object.keys(lists[tableField]?.items.properties ?? {});
  return (body) =>
    stringify((body as Readonly<Record<string, object[]>>)[tableField] ?? [], {
      columns,
      header: true,
      record_delimiter: 'windows',
      // A spreadsheet would run a cell that begins with = as a formula.
      escape_formulas: true,
    });
}

/** Whether the client prefers CSV to JSON. */
export const prefersCsv = (request: Request): boolean =>
  String(request.accepts(['application/json', 'text/csv', 'text/csv; charset=utf-8'])).startsWith('text/csv');
