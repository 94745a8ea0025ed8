// Describes and handles the import, the export, the events and the status of the management API.
import { endpointDefiner } from '@bay-booking/common/endpoint';
import { ImportError } from '@bay-booking/common/import-document';
import { writeQueryString } from '@bay-booking/common/query-string';
import type { Database } from '@bay-booking/service/database/database';
import type { Caller } from '../auth/caller.ts';
import { apiError } from '../errors.ts';
import { isText, textSchema } from '../http/schemas.ts';
import { checkImport, type ImportedFacility, importSchema, pathOf, recordOf, recordPaths } from '../import/document.ts';
import { exportPlaces, findPlace } from '../import/find-store.ts';
import { importPlaces } from '../import/store.ts';
import type { ManagementServices } from './place-endpoints.ts';
import { importError, problemOfImport } from './problems.ts';
import {
  defaultEventLimit,
  eventListSchema,
  eventQuerySchema,
  importQuerySchema,
  importResultSchema,
  statusSchema,
} from './schema.ts';
import { listEvents, readStatus } from './store.ts';

const defineEndpoint = endpointDefiner<Caller>();
const maxImportBytes = 10_000_000;
const tag = 'Operations';
const auditPath = '/management/audit';

const fileExample = {
  facilities: [
    {
      id: 'fac-north',
      name: 'North Range',
      timeZone: 'Europe/Copenhagen',
      locations: [{ id: 'loc-north-1', name: 'Ground floor', bays: [{ id: 'bay-n1-01', name: 'Bay 1' }] }],
    },
  ],
};

export function createImportEndpoints({ db, link, audit }: ManagementServices) {
  return [
    defineEndpoint({
      operationId: 'exportPlaces',
      method: 'GET',
      path: '/management/export',
      access: 'read',
      tag,
      summary: 'Export everything',
      description: 'An import file with every facility, location and bay. Importing it changes nothing.',
      success: { status: 200, description: 'The import file.', schema: importSchema, example: fileExample },
      handle: async () => ({ status: 200, body: await exportPlaces(db) }),
    }),
    defineEndpoint({
      operationId: 'importPlaces',
      method: 'POST',
      path: '/management/import',
      access: 'write',
      tag,
      summary: 'Import a file',
      description:
        'Creates and changes what the file contains, all or nothing, and removes nothing. A field that is left out ' +
        'keeps its value. The body has 10 MB at most. With dryRun=true, nothing is written, and errors are in the entries.',
      query: importQuerySchema,
      body: importSchema,
      bodyUse: 'as sent',
      bodyLimit: maxImportBytes,
      bodyExample: fileExample,
      success: {
        status: 200,
        description: 'What was done with each record.',
        schema: importResultSchema,
        example: { entries: [{ path: '/facilities/0', action: 'unchanged', errors: [] }] },
      },
      handle: async (request) => {
        const { query, body, caller } = request;
        const { facilities, errors } = checkImport(body);
        if (query.dryRun) return { status: 200, body: { entries: await dryRun(db, body, facilities, errors) } };
        if (errors.length > 0) throw importError(errors);
        const actions = await importAll(db, facilities, caller.clientId);
        audit(request, { action: 'import', facilityIds: facilities.map(({ id }) => id), target: null });
        const entries = recordPaths(body).map((path) => ({ path, action: actions.get(path), errors: [] }));
        return { status: 200, body: { entries } };
      },
    }),
    defineEndpoint({
      operationId: 'listEvents',
      method: 'GET',
      path: auditPath,
      access: 'read',
      tag,
      summary: 'List the changes that operators made',
      description:
        'Every change by this API or an import, oldest first, with the names of the fields that changed. Follow next ' +
        'until a page has no items.',
      query: eventQuerySchema,
      success: {
        status: 200,
        description: 'A page of changes.',
        schema: eventListSchema,
        example: {
          items: [
            {
              number: 12,
              at: '2030-01-01T09:00:00.000Z',
              action: 'bay.updated',
              actor: { clientId: 'operator' },
              facilityId: 'fac-north',
              target: 'bays/bay-n1-01',
              changed: ['bookable'],
            },
          ],
          last: 12,
          _links: { self: link('GET', auditPath), next: link('GET', `${auditPath}?after=12`) },
        },
      },
      handle: async ({ query }) => {
        const { after = 0, pageSize = defaultEventLimit, account } = query;
        const rows = account === undefined ? await listEvents(db, after, query, pageSize) : [];
        const last = rows.at(-1)?.number ?? after;
        const hrefAfter = (number: number) => `${auditPath}${writeQueryString({ ...query, after: number })}`;
        const items = rows.map(({ clientId, ...event }) => ({ ...event, actor: { clientId } }));
        const _links = { self: link('GET', hrefAfter(after)), next: link('GET', hrefAfter(last)) };
        return { status: 200, body: { items, last, _links } };
      },
    }),
    defineEndpoint({
      operationId: 'getFacilityStatus',
      method: 'GET',
      path: '/management/facilities/{id}/status',
      access: 'read',
      tag,
      summary: 'Get the status of a facility',
      description: 'How much a facility has, and when it was last used.',
      params: { id: { description: 'Facility ID.', schema: textSchema, example: 'fac-north' } },
      success: {
        status: 200,
        description: 'The status.',
        schema: statusSchema,
        example: {
          id: 'fac-north',
          locations: 2,
          bays: 16,
          openBookings: 120,
          webhooks: { active: 1, paused: 0, disabled: 0 },
          lastRequestAt: '2030-01-01T09:00:00.000Z',
        },
      },
      handle: async ({ params: { id = '' } }) => {
        if (!isText(id) || !(await findPlace(db, 'facility', id))) throw apiError('ERR00404');
        return { status: 200, body: await readStatus(db, id) };
      },
    }),
  ];
}

async function importAll(db: Database, facilities: readonly ImportedFacility[], clientId: string) {
  try {
    const { steps } = await importPlaces(db, facilities, { clientId });
    return new Map(steps.map(({ path, action }) => [path, action]));
  } catch (error) {
    throw error instanceof ImportError ? importError(error.errors) : error;
  }
}

/** Compares the records that have no error with those that are stored. */
async function dryRun(
  db: Database,
  document: object,
  facilities: readonly ImportedFacility[],
  documentErrors: readonly string[],
) {
  const { steps, errors } = await importPlaces(db, facilities, { dryRun: true });
  const actions = new Map<string, string>(steps.map(({ path, action }) => [path, action]));
  const errorsByRecord = Map.groupBy([...documentErrors, ...errors], (error) => recordOf(pathOf(error)));
  const paths = [...(errorsByRecord.has('') ? [''] : []), ...recordPaths(document)];
  return paths.map((path) => {
    const ofRecord = (errorsByRecord.get(path) ?? []).map(problemOfImport);
    const action = ofRecord.length > 0 ? undefined : actions.get(path);
    if (action !== undefined) return { path, action, errors: [] };
    // A record of an invalid record is not compared.
    return { path, action: 'error', errors: ofRecord.length > 0 ? ofRecord : [problemOfImport(inInvalidRecord(path))] };
  });
}

const inInvalidRecord = (path: string): string => `${path}: belongs to a record that has errors`;
