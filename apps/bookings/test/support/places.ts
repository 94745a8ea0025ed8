// Defines the facilities, locations and bays of the tests: the two facilities of the demo, and a third facility that
// the default token of the tests does not name.
import { linksBelow } from '@bay-booking/common/links';
import { importFile } from '@bay-booking/records/commands';
import type { Database } from '@bay-booking/service/database/database';
import { createPlaceRecords } from '../../src/places/record.ts';

const bays = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `bay-${prefix}-${String(index + 1).padStart(2, '0')}`,
    name: `Bay ${index + 1}`,
    description: `Bay number ${index + 1}`,
    kind: 'RangeBay',
    bookable: true,
  }));

export const places = {
  facilities: [
    {
      id: 'fac-north',
      name: 'North Range',
      timeZone: 'Europe/Copenhagen',
      locations: [
        {
          id: 'loc-north-1',
          name: 'North Range, ground floor',
          bays: [
            ...bays('n1', 10),
            { id: 'bay-n1-99', name: 'Bay 99', description: 'Closed', kind: 'RangeBay', bookable: false },
          ],
        },
        { id: 'loc-north-2', name: 'North Range, upper floor', bays: bays('n2', 5) },
      ],
    },
    {
      id: 'fac-south',
      name: 'South Range',
      timeZone: 'America/New_York',
      locations: [{ id: 'loc-south-1', name: 'South Range', bays: bays('s1', 5) }],
    },
    {
      id: 'fac-east',
      name: 'East Range',
      timeZone: 'Asia/Kathmandu',
      locations: [{ id: 'loc-east-1', name: 'East Range', bays: bays('e1', 3) }],
    },
  ],
};

/** All systems of a test file share these records, because the compilation of their schemas takes long. */
let records: ReturnType<typeof createPlaceRecords> | undefined;

/** Imports a file, as the command does. */
export const importPlaces = (db: Database, document: object) => {
  records ??= createPlaceRecords(db, linksBelow('https://bookings.example'), () => {});
  return importFile({ ...records, db }, JSON.parse(JSON.stringify(document)));
};

export const importTestPlaces = (db: Database) => importPlaces(db, places);
