// Reads and validates an import file with facilities, locations and bays (docs/behaviour.md, "Import files").
import {
  createImportReader,
  type DocumentNode,
  elementsOf,
  findDuplicates,
  ImportError,
  propertyOf,
  timeZoneErrors,
} from '@bay-booking/common/import-document';
import type { FromSchema } from 'json-schema-to-ts';
import { patternWithout, textSchema } from '../http/schemas.ts';
import { knownFields, type OpeningHours } from '../opening-hours/hours.ts';
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
  readonly locationId: string;
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

/**
 * `input` is the text of a file, or a parsed document.
 * @throws {ImportError} with every error that can be found without the database
 */
export function readImport(input: string | object): readonly ImportedFacility[] {
  return facilitiesOf(readDocument(input), () => true);
}

/** Returns the errors of a document, and those of its records that have none. */
export function checkImport(document: object) {
  const errors = errorsOf(document);
  const invalid = new Set(errors.map((error) => recordOf(pathOf(error))));
  return { errors, facilities: facilitiesOf(document as ImportDocument, (path) => !invalid.has(path)) };
}

/** Returns the path of every record, a facility before its locations and a location before its bays. */
export function recordPaths(document: object): readonly string[] {
  const pathsOf = (node: DocumentNode, [child = '', ...further]: readonly string[]): readonly string[] =>
    elementsOf(node, child).flatMap((element) => [element.path, ...pathsOf(element, further)]);
  return pathsOf({ path: '', value: document }, ['facilities', 'locations', 'bays']);
}

/** Returns the path in front of the text of an error. */
export const pathOf = (error: string): string => error.slice(0, Math.max(error.indexOf(': '), 0));

/** Returns the path of the record in which a path lies. */
export const recordOf = (path: string): string =>
  /^\/facilities\/\d+(?:\/locations\/\d+(?:\/bays\/\d+)?)?/.exec(path)?.[0] ?? '';

function errorsOf(document: object): readonly string[] {
  try {
    readDocument(document);
    return [];
  } catch (error) {
    if (error instanceof ImportError) return error.errors;
    throw error;
  }
}

/** Leaves out the records that are not valid, with what they contain. */
function facilitiesOf(document: ImportDocument, isValid: (path: string) => boolean): readonly ImportedFacility[] {
  if (!isValid('')) return [];
  const validElements = <Element>(elements: readonly Element[], path: string) =>
    elements.map((element, index) => ({ element, path: `${path}/${index}` })).filter((entry) => isValid(entry.path));
  return validElements(document.facilities, '/facilities').map(({ element, path }) => {
    const { id, name, timeZone } = element;
    const locations = validElements(element.locations ?? [], `${path}/locations`);
    return {
      id,
      name,
      timeZone,
      path,
      locations: locations.map(({ element: { openingHours, ...location }, path: locationPath }) => ({
        id: location.id,
        name: location.name,
        path: locationPath,
        ...(openingHours && { openingHours: knownFields({ exceptions: [], ...openingHours }) }),
      })),
      bays: locations.flatMap(({ element: { id: locationId, bays = [] }, path: locationPath }) =>
        validElements(bays, `${locationPath}/bays`).map(({ element: bay, path: bayPath }) => ({
          ...bay,
          locationId,
          path: bayPath,
        })),
      ),
    };
  });
}
