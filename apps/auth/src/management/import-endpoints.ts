// Describes and handles the import, the export and the audit trail of the management API.
import { type Endpoint, endpointDefiner } from '@bay-booking/common/endpoint';
import { ImportError } from '@bay-booking/common/import-document';
import { linksBelow } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import { type ImportDocument, importSchema, readImportDocument } from '../import/document.ts';
import { credentialsExported, exportDocument } from '../import/export.ts';
import {
  isCreatedOrChanged,
  type PlacedEntries,
  type Plan,
  placed,
  planImport,
  writePlan,
} from '../import/importer.ts';
import type { Caller } from './authorize.ts';
import { pathOf, problemOfImport } from './problems.ts';
import type { ManagementContext } from './resource-endpoints.ts';
import {
  defaultEventLimit,
  eventListSchema,
  eventQuery,
  exportQuery,
  importQuery,
  importResultSchema,
} from './schema.ts';
import { listEvents } from './store.ts';

const defineEndpoint = endpointDefiner<Caller>();
const tag = 'Operations';
const auditPath = '/management/audit';
const sections = ['facilities', 'accounts', 'clients'] as const;

export function importEndpoints({
  services,
  clientValidator,
  makeChange,
}: ManagementContext): readonly Endpoint<Caller>[] {
  const { db, config, scopes } = services;
  const link = linksBelow(config.issuer);
  return [
    defineEndpoint({
      operationId: 'exportEverything',
      method: 'GET',
      path: '/management/export',
      access: 'read',
      tag,
      summary: 'Export everything',
      description: 'An import file of every facility, account and client. Importing it changes nothing.',
      query: exportQuery,
      success: { status: 200, description: 'The import file.', schema: importSchema },
      handle: async ({ query, caller }) => {
        const withHashes = query.credentials === 'hashed';
        // Before the credentials leave, so that no export is missing in the audit trail.
        if (withHashes) await makeChange(caller, async () => ({ result: undefined, events: [credentialsExported] }));
        return { status: 200, body: await exportDocument(db, { withHashes }) };
      },
    }),
    defineEndpoint({
      operationId: 'importFile',
      method: 'POST',
      path: '/management/import',
      access: 'write',
      tag,
      summary: 'Import a file',
      description:
        'Creates and changes what the file contains, all or nothing, and removes nothing. The body has 10 MB at most. ' +
        'With dryRun=true, nothing is written, and errors are in the entries.',
      query: importQuery,
      body: importSchema,
      bodyUse: 'as sent',
      bodyLimit: 10_000_000,
      success: { status: 200, description: 'What was done with each entry.', schema: importResultSchema },
      handle: ({ query: { dryRun = false }, body, caller }) =>
        makeChange(caller, async (tx) => {
          const documentErrors = errorsOf(body);
          if (!dryRun && documentErrors.length > 0) throw new ImportError(documentErrors);
          const { encryptionKeys } = config;
          const options = { scopes, clientValidator, encryptionKeys, missing: 'keep', mayGiveScopes: false } as const;
          const plan = await planImport(tx, validEntries(body, documentErrors), options);
          const events = dryRun ? [] : await writePlan(tx, plan, caller.clientId);
          const entries = describeEntries(body, plan, [...documentErrors, ...plan.errors]);
          return { result: { status: 200, body: { entries } }, events, isStored: true };
        }),
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
      query: eventQuery,
      success: { status: 200, description: 'A page of changes.', schema: eventListSchema },
      handle: async ({ query }) => {
        const { after = 0, pageSize = defaultEventLimit } = query;
        const rows = await listEvents(db, after, query, pageSize);
        const last = rows.at(-1)?.number ?? after;
        const linkAfter = (number: number) =>
          link('GET', `${auditPath}${writeQueryString({ ...query, after: number })}`);
        const items = rows.map(({ clientId, ...event }) => ({ ...event, actor: { clientId } }));
        return { status: 200, body: { items, last, _links: { self: linkAfter(after), next: linkAfter(last) } } };
      },
    }),
  ];
}

function errorsOf(body: object): readonly string[] {
  try {
    readImportDocument(body);
    return [];
  } catch (error) {
    if (error instanceof ImportError) return error.errors;
    throw error;
  }
}

/** Such as `/accounts/0`. Empty for an error of the whole document. */
const entryOf = (path: string): string => /^\/(?:facilities|accounts|clients)\/\d+/.exec(path)?.[0] ?? '';

const listOf = <Name extends (typeof sections)[number]>(body: object, name: Name) => {
  const list = (body as ImportDocument)[name];
  return (Array.isArray(list) ? list : []) as NonNullable<ImportDocument[Name]>;
};

/** The entries without errors. Those with errors still count as known, so that others may refer to them. */
function validEntries(body: object, errors: readonly string[]): PlacedEntries {
  const invalid = new Set(errors.map((error) => entryOf(pathOf(error))));
  const isValid = ({ path }: { path: string }) => !invalid.has(path);
  const idsOf = (section: 'facilities' | 'accounts'): string[] =>
    listOf(body, section).flatMap((entry: { id?: unknown } | null) =>
      typeof entry?.id === 'string' ? [entry.id] : [],
    );
  return {
    facilities: placed('facilities', listOf(body, 'facilities')).filter(isValid),
    accounts: placed('accounts', listOf(body, 'accounts')).filter(isValid),
    clients: placed('clients', listOf(body, 'clients')).filter(isValid),
    known: { facilities: idsOf('facilities'), accounts: idsOf('accounts') },
  };
}

function describeEntries(body: object, plan: Plan, errors: readonly string[]) {
  const steps = new Map([...plan.facilities, ...plan.accounts, ...plan.clients].map((step) => [step.path, step]));
  const errorsByEntry = Map.groupBy(errors, (error) => entryOf(pathOf(error)));
  const paths = sections.flatMap((section) => placed<unknown>(section, listOf(body, section)).map(({ path }) => path));
  return [...(errorsByEntry.has('') ? [''] : []), ...paths].map((path) => {
    const ofEntry = errorsByEntry.get(path) ?? [];
    if (ofEntry.length > 0) return { path, action: 'error', errors: ofEntry.map(problemOfImport) };
    const step = steps.get(path);
    // An account that was deleted is skipped.
    if (!step || !isCreatedOrChanged(step)) return { path, action: 'unchanged', errors: [] };
    return { path, action: step.before ? 'update' : 'create', errors: [] };
  });
}
