// Connects the records of the service with the import, the export and the management API (packages/records).
import { formats } from '@bay-booking/common/date-times';
import type { MakeLink } from '@bay-booking/common/links';
import { createEntryReader } from '@bay-booking/records/entries';
import type { RecordStore } from '@bay-booking/records/import';
import { createManagementErrors } from '@bay-booking/records/problems';
import type { Database } from '@bay-booking/service/database/database';
import { errorCatalogue } from '../errors.ts';
import { createBayKind } from './bay.ts';
import { createFacilityKind } from './facility.ts';
import { createLocationKind } from './location.ts';
import { lockPlacesOfService } from './places.ts';

const { ERR00400, ERR00408, ERR00429, ERR00431 } = errorCatalogue;

export const placeErrors = createManagementErrors({
  ERR00400,
  ERR00408,
  ERR00429,
  ERR00431,
  PLACE00001: {
    status: 409,
    description: 'The place has bookings that have not ended.',
    appliesTo: ['deleteLocation', 'deleteBay'],
  },
  PLACE00002: {
    status: 409,
    description: 'The id belonged to a facility that was deleted. It is never used again.',
    appliesTo: ['putFacility', 'importFile'],
  },
  PLACE00003: { status: 409, description: 'The facility still has locations.', appliesTo: ['deleteFacility'] },
});

export function createPlaceRecords(db: Database, link: MakeLink): RecordStore<string> {
  const roots = [createFacilityKind(createLocationKind(createBayKind(link), link))];
  return {
    db,
    roots,
    errors: placeErrors,
    reader: createEntryReader(roots, formats, ['facilities']),
    lock: lockPlacesOfService,
  };
}
