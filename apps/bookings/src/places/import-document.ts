// Reads and validates an import file with facilities, locations and bays (docs/behaviour.md, "Import files").
import {
  createImportReader,
  type DocumentNode,
  elementsOf,
  findDuplicates,
  propertyOf,
} from '@bay-booking/common/import-document';
import type { FromSchema } from 'json-schema-to-ts';
import { formats } from '../http/formats.ts';
import { patternWithout, textSchema } from '../http/text.ts';
import type { OpeningHours } from '../opening-hours/hours.ts';
import { importedHoursSchema } from '../opening-hours/schema.ts';

const baySchema = {
  type: 'object',
  required: ['id', 'name'],
  additionalProperties: false,
  properties: {
    id: textSchema,
    name: textSchema,
    // Unlike other texts, the description may be empty and may contain line breaks. PostgreSQL cannot store NUL or lone
    // surrogates.
    description: { type: 'string', maxLength: 2000, pattern: patternWithout('\\u0000') },
    kind: textSchema,
    bookable: { type: 'boolean' },
  },
} as const;

const locationSchema = {
  type: 'object',
  required: ['id', 'name'],
  additionalProperties: false,
  properties: {
    id: textSchema,
    name: textSchema,
    openingHours: importedHoursSchema,
    bays: { type: 'array', items: baySchema },
  },
} as const;

const facilitySchema = {
  type: 'object',
  required: ['id', 'name', 'timeZone'],
  additionalProperties: false,
  properties: {
    id: textSchema,
    name: textSchema,
    timeZone: textSchema,
    locations: { type: 'array', items: locationSchema },
  },
} as const;

/** docs/import.md describes every field. A test compares that page with this schema. */
export const importSchema = {
  type: 'object',
  required: ['facilities'],
  additionalProperties: false,
  properties: { facilities: { type: 'array', items: facilitySchema } },
} as const;

type ImportDocument = FromSchema<typeof importSchema>;

/** A bay of the file. If the database already has the bay, it keeps the values of fields that the file leaves out. */
export interface ImportedBay {
  readonly id: string;
  readonly location_id: string;
  readonly name: string;
  readonly description?: string;
  readonly kind?: string;
  readonly bookable?: boolean;
  readonly path: string;
}

/** A location of the file. Without `openingHours`, the stored hours stay as they are. */
export interface ImportedLocation {
  readonly id: string;
  readonly name: string;
  readonly openingHours?: OpeningHours;
  readonly path: string;
}

/**
 * A facility of the file. Facilities, locations and bays have a `path`: their JSON Pointer in the file. Errors that
 * only the database can find contain it.
 */
export interface ImportedFacility {
  readonly id: string;
  readonly name: string;
  readonly timeZone: string;
  readonly path: string;
  readonly locations: readonly ImportedLocation[];
  readonly bays: readonly ImportedBay[];
}

const readDocument = createImportReader<ImportDocument>(
  importSchema,
  (root) => {
    const facilities = elementsOf(root, 'facilities');
    const locations = facilities.flatMap((facility) => elementsOf(facility, 'locations'));
    const bays = locations.flatMap((location) => elementsOf(location, 'bays'));
    return [
      ...findDuplicates(facilities, 'id'),
      ...findDuplicates(locations, 'id'),
      ...findDuplicates(bays, 'id'),
      ...locations.flatMap((location) =>
        findDuplicates(elementsOf(propertyOf(location, 'openingHours'), 'exceptions'), 'date'),
      ),
      ...facilities.flatMap(timeZoneErrors),
    ];
  },
  formats,
);

/** @throws {ImportError} with every error that can be found without the database */
export function readImport(text: string): readonly ImportedFacility[] {
  const { facilities } = readDocument(text);
  return facilities.map(({ id, name, timeZone, locations = [] }, facilityIndex) => {
    const path = `/facilities/${facilityIndex}`;
    const located = locations.map((location, index) => ({ ...location, path: `${path}/locations/${index}` }));
    return {
      id,
      name,
      timeZone,
      path,
      locations: located.map(({ id, name, openingHours, path }) => ({
        id,
        name,
        path,
        ...(openingHours && { openingHours: { exceptions: [], ...openingHours } }),
      })),
      bays: located.flatMap((location) =>
        (location.bays ?? []).map((bay, index) => ({
          ...bay,
          location_id: location.id,
          path: `${location.path}/bays/${index}`,
        })),
      ),
    };
  });
}

function timeZoneErrors(facility: DocumentNode): string[] {
  const { path, value } = propertyOf(facility, 'timeZone');
  // The schema already reports an empty time zone.
  if (typeof value !== 'string' || value === '' || isTimeZone(value)) return [];
  return [`${path}: ${value} is not an IANA time zone`];
}

function isTimeZone(name: string): boolean {
  // Intl accepts offsets such as +01:00. They are not IANA names and have no daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
