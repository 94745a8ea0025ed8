// Reads and validates an import file with facilities, locations and bays (docs/behaviour.md, "Import files").
import {
  createImportReader,
  elementsOf,
  findDuplicates,
  propertyOf,
  timeZoneErrors,
} from '@bay-booking/common/import-document';
import type { FromSchema } from 'json-schema-to-ts';
import { patternWithout, textSchema } from '../http/schemas.ts';
import type { OpeningHours } from '../opening-hours/hours.ts';
import { importedHoursSchema } from '../opening-hours/schema.ts';
import { formats } from '../time/formats.ts';

function recordSchema<const Properties extends object>(properties: Properties) {
  return {
    type: 'object',
    required: ['id', 'name'],
    additionalProperties: false,
    properties: { id: textSchema, name: textSchema, ...properties },
  } as const;
}

const baySchema = recordSchema({
  // May be empty and contain line breaks, but nothing that PostgreSQL cannot store (NUL, lone surrogates).
  description: { type: 'string', maxLength: 2000, pattern: patternWithout('\\u0000') },
  kind: textSchema,
  bookable: { type: 'boolean' },
});

const locationSchema = recordSchema({
  openingHours: importedHoursSchema,
  bays: { type: 'array', items: baySchema },
});

const facilitySchema = {
  ...recordSchema({ timeZone: textSchema, locations: { type: 'array', items: locationSchema } }),
  required: ['id', 'name', 'timeZone'],
} as const;

/** docs/import.md describes every field. A test compares that page with this schema. */
export const importSchema = {
  type: 'object',
  required: ['facilities'],
  additionalProperties: false,
  properties: { facilities: { type: 'array', items: facilitySchema } },
} as const;

type ImportDocument = FromSchema<typeof importSchema>;

interface ImportedRecord {
  readonly id: string;
  readonly name: string;
  /** The JSON Pointer of the record, for errors that only the database can find. */
  readonly path: string;
}

export interface ImportedBay extends ImportedRecord {
  /** Named like the column, because store.ts sends the bay to the database as JSON. */
  readonly location_id: string;
  readonly description?: string;
  readonly kind?: string;
  readonly bookable?: boolean;
}

export interface ImportedLocation extends ImportedRecord {
  readonly openingHours?: OpeningHours;
}

export interface ImportedFacility extends ImportedRecord {
  readonly timeZone: string;
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
  return facilities.map(({ locations = [], ...facility }, facilityIndex) => {
    const path = `/facilities/${facilityIndex}`;
    const pathOf = (locationIndex: number): string => `${path}/locations/${locationIndex}`;
    return {
      ...facility,
      path,
      locations: locations.map(({ id, name, openingHours }, index) => ({
        id,
        name,
        path: pathOf(index),
        ...(openingHours && { openingHours: { exceptions: [], ...openingHours } }),
      })),
      bays: locations.flatMap(({ id, bays = [] }, locationIndex) =>
        bays.map((bay, index) => ({ ...bay, location_id: id, path: `${pathOf(locationIndex)}/bays/${index}` })),
      ),
    };
  });
}
