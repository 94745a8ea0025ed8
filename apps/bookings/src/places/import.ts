// What is in an import file? Facilities with their locations and bays (contract section 2): checked as a whole before anything is
// written, every fault with its path.
import { createDocumentCheck } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import { textSchema } from '../http/text.ts';

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
  /** Where these are left out, a bay that is known keeps its own. */
  readonly description?: string;
  readonly kind?: string;
  readonly bookable?: boolean;
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
  const facilities = listed('facilities', { path: '', value: document });
  const locations = facilities.flatMap((facility) => listed('locations', facility));
  const bays = locations.flatMap((location) => listed('bays', location));
  const faults = [
    ...check(document),
    ...twice('facility', facilities),
    ...twice('location', locations),
    ...twice('bay', bays),
    ...facilities.flatMap(unknownTimeZone),
  ];
  if (faults.length > 0) throw new ImportError(faults);
  return flatten(document as ImportDocument);
}

/** An object of the file, whatever else is wrong with it or beside it. */
interface Entry {
  readonly path: string;
  readonly value: unknown;
}

function listed(name: string, { path, value }: Entry): Entry[] {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list.map((entry, index) => ({ path: `${path}/${name}/${index}`, value: entry })) : [];
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
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
      (location.bays ?? []).map((bay, b) => ({
        ...bay,
        location_id: location.id,
        path: `/facilities/${f}/locations/${l}/bays/${b}`,
      })),
    ),
  }));
}

function twice(what: string, entries: readonly Entry[]): string[] {
  const seen = new Map<string, string>();
  return entries.flatMap(({ path, value }) => {
    const id = fieldOf(value, 'id');
    if (typeof id !== 'string') return [];
    const first = seen.get(id);
    if (first !== undefined) return [`${path}/id: ${what} ${id} stands at ${first} already`];
    seen.set(id, path);
    return [];
  });
}

function unknownTimeZone({ path, value }: Entry): string[] {
  const timeZone = fieldOf(value, 'timeZone');
  if (typeof timeZone !== 'string' || timeZone === '' || isTimeZone(timeZone)) return [];
  return [`${path}/timeZone: ${timeZone} is no IANA time zone`];
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
