// What is in an import file? Facilities with their locations and bays (contract section 2): checked as a whole before anything is
// written, every fault with its path.
import { createDocumentCheck } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import { textSchema } from '../text.ts';

const importSchema = {
  type: 'object',
  required: ['facilities'],
  additionalProperties: false,
  properties: {
    facilities: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'name', 'timeZone'],
        additionalProperties: false,
        properties: {
          id: textSchema,
          name: textSchema,
          timeZone: textSchema,
          locations: {
            type: 'array',
            items: {
              type: 'object',
              required: ['id', 'name'],
              additionalProperties: false,
              properties: {
                id: textSchema,
                name: textSchema,
                bays: {
                  type: 'array',
                  items: {
                    type: 'object',
                    required: ['id', 'name'],
                    additionalProperties: false,
                    properties: {
                      id: textSchema,
                      name: textSchema,
                      description: { type: 'string', maxLength: 2000, pattern: '^[^\\u0000\\p{Cs}]*$' },
                      kind: textSchema,
                      bookable: { type: 'boolean' },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
} as const;

export type ImportDocument = FromSchema<typeof importSchema>;

export interface ImportedBay {
  readonly id: string;
  readonly location_id: string;
  readonly name: string;
  readonly description: string;
  readonly kind: string;
  readonly bookable: boolean;
  readonly path: string;
}

export interface ImportedFacility {
  readonly id: string;
  readonly name: string;
  readonly timeZone: string;
  readonly path: string;
  readonly locations: readonly { readonly id: string; readonly name: string; readonly path: string }[];
  readonly bays: readonly ImportedBay[];
}

export class ImportError extends Error {
  override readonly name = 'ImportError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `The import has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

const check = createDocumentCheck(importSchema);

/** @throws {ImportError} with every fault that the file alone shows */
export function readImport(text: string): readonly ImportedFacility[] {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new ImportError([`/: is no JSON (${(error as Error).message})`]);
  }
  const faults = [...check(document)];
  if (faults.length > 0) throw new ImportError(faults);
  const facilities = flatten(document as ImportDocument);
  faults.push(
    ...twice('facility', facilities),
    ...twice(
      'location',
      facilities.flatMap(({ locations }) => locations),
    ),
    ...twice(
      'bay',
      facilities.flatMap(({ bays }) => bays),
    ),
  );
  for (const { path, timeZone } of facilities) {
    if (!isTimeZone(timeZone)) faults.push(`${path}/timeZone: ${timeZone} is no IANA time zone`);
  }
  if (faults.length > 0) throw new ImportError(faults);
  return facilities;
}

function flatten({ facilities }: ImportDocument): readonly ImportedFacility[] {
  return facilities.map(({ id, name, timeZone, locations = [] }, f) => ({
    id,
    name,
    timeZone,
    path: `/facilities/${f}`,
    locations: locations.map((location, l) => ({
      id: location.id,
      name: location.name,
      path: `/facilities/${f}/locations/${l}`,
    })),
    bays: locations.flatMap((location, l) =>
      (location.bays ?? []).map(({ id, name, description = '', kind = 'RangeBay', bookable = true }, b) => ({
        id,
        location_id: location.id,
        name,
        description,
        kind,
        bookable,
        path: `/facilities/${f}/locations/${l}/bays/${b}`,
      })),
    ),
  }));
}

function twice(what: string, entries: readonly { readonly id: string; readonly path: string }[]): string[] {
  const seen = new Map<string, string>();
  return entries.flatMap(({ id, path }) => {
    const first = seen.get(id);
    if (first !== undefined) return [`${path}/id: ${what} ${id} stands at ${first} already`];
    seen.set(id, path);
    return [];
  });
}

function isTimeZone(name: string): boolean {
  // Offsets such as +01:00 are time zones to Intl, but know no daylight saving and are no IANA names.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
