// Describes and handles the endpoints for facilities, accounts and clients.
import { randomBytes } from 'node:crypto';
import { type Endpoint, endpointDefiner } from '@bay-booking/common/endpoint';
import { ImportError } from '@bay-booking/common/import-document';
import { linksBelow } from '@bay-booking/common/links';
import { listEnvelope, offsetOf, readPage } from '@bay-booking/common/page';
import { writeQueryString } from '@bay-booking/common/query-string';
import type { Queryable } from '@bay-booking/service/database/database';
import { deleteAccountWithin } from '../account/deletion-store.ts';
import { readImportDocument } from '../import/document.ts';
import { accountEntry, clientEntry } from '../import/entries.ts';
import {
  countRecords,
  findWithoutOwner,
  type Kind,
  type Selection,
  selectAccounts,
  selectClients,
  selectFacilities,
  withIds,
  withUsername,
} from '../import/find-store.ts';
import { type AccountStep, placedEntries, planImport, writePlan } from '../import/importer.ts';
import type { ClientValidator } from '../oidc/clients/validation.ts';
import type { Services } from '../services.ts';
import type { Caller } from './authorize.ts';
import type { MakeChange } from './changes.ts';
import { checkPreconditions, etagOf, isNotModified } from './etag.ts';
import { apiError } from './problems.ts';
import { bodySchemas, defaultPageSize, entrySchemas, listQueries, listSchemas } from './schema.ts';
import { deleteClient, deleteFacility } from './store.ts';

const defineEndpoint = endpointDefiner<Caller>();

export interface ManagementContext {
  readonly services: Services;
  readonly clientValidator: ClientValidator;
  readonly makeChange: MakeChange;
}

type Entry = Readonly<Record<string, unknown>>;

export interface Resource {
  /** Of the account or client; a user name can change. */
  readonly id: string;
  readonly entry: Entry;
  readonly etag: string;
}

interface KindDescription {
  readonly name: string;
  readonly collection: string;
  /** The section of an import file. */
  readonly section: 'facilities' | 'accounts' | 'clients';
  /** The field that the address contains. */
  readonly key: string;
  readonly example: Entry;
  readonly select: (on: Queryable, selection: Selection) => Promise<readonly Resource[]>;
  readonly filter: (query: Entry) => Selection;
  readonly remove: (tx: Queryable, resource: Resource) => Promise<void>;
}

const everything: Selection = { where: 'true', values: [] };

export const kinds: Readonly<Record<Kind, KindDescription>> = {
  facility: {
    name: 'Facility',
    collection: 'facilities',
    section: 'facilities',
    key: 'id',
    example: { id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen' },
    select: async (on, selection) =>
      (await selectFacilities(on, selection)).map((entry) => ({ id: entry.id, entry, etag: etagOf(entry, null) })),
    filter: () => everything,
    remove: async (tx, { id }) => {
      if (!(await deleteFacility(tx, id))) throw apiError('MEMBER00002');
    },
  },
  account: {
    name: 'Account',
    collection: 'accounts',
    section: 'accounts',
    key: 'username',
    example: {
      id: 'acc-owner-north',
      username: 'owner@north.example',
      name: 'Nora North',
      email: 'owner@north.example',
      emailVerified: true,
      kind: 'user',
      roles: ['range-owner'],
      disabled: false,
      memberships: [{ facilityId: 'fac-north', role: 'owner' }],
    },
    select: async (on, selection) =>
      (await selectAccounts(on, selection)).map((account) => {
        const entry = accountEntry(account);
        return { id: account.id, entry, etag: etagOf(entry, account.passwordHash) };
      }),
    filter: ({ facilityId, role, disabled }) => ({
      where: `($1::boolean is null or (a.disabled_at is not null) = $1) and ($2::text is null and $3::text is null
        or exists (select from membership m where m.account_id = a.id and ($2::text is null or m.facility_id = $2)
                     and ($3::text is null or m.role = $3)))`,
      values: [disabled ?? null, facilityId ?? null, role ?? null],
    }),
    remove: async (tx, { id }) => {
      if (typeof (await deleteAccountWithin(tx, id)) === 'object') throw apiError('MEMBER00001');
    },
  },
  client: {
    name: 'Client',
    collection: 'clients',
    section: 'clients',
    key: 'client_id',
    example: {
      client_id: 'till',
      kind: 'standard',
      pkce: 'optional',
      scope: 'openid',
      redirect_uris: ['https://till.example/callback'],
      disabled: false,
    },
    select: async (on, selection) =>
      (await selectClients(on, selection)).map((client) => {
        const entry = clientEntry(client);
        return { id: client.client.id, entry, etag: etagOf(entry, client.secrets) };
      }),
    filter: ({ kind, accountId }) => ({
      where: '($1::text is null or c.kind = $1) and ($2::text is null or c.account_id = $2)',
      values: [kind ?? null, accountId ?? null],
    }),
    remove: (tx, { id }) => deleteClient(tx, id),
  },
};

/** `key` is the id, or the user name of an account. */
export async function findResource(on: Queryable, kind: Kind, key: string): Promise<Resource | undefined> {
  // PostgreSQL cannot compare text that contains a NUL character.
  if (key.includes('\0')) return undefined;
  const selection = kind === 'account' ? withUsername(key) : withIds(kind, [key]);
  const [resource] = await kinds[kind].select(on, selection);
  return resource;
}

export async function getResource(on: Queryable, kind: Kind, key = ''): Promise<Resource> {
  const resource = await findResource(on, kind, key);
  if (!resource) throw apiError('ERR00404');
  return resource;
}

export const resourceEndpoints = (context: ManagementContext): readonly Endpoint<Caller>[] =>
  (['facility', 'account', 'client'] as const).flatMap((kind) => endpointsOf(kind, context));

const etag = {
  ETag: { description: 'Changes with the resource, its password and its secrets.', schema: { type: 'string' } },
};
const ifMatch = {
  'If-Match': {
    description: 'The request fails with 412 unless the ETag is one of these.',
    schema: { type: 'string' },
  },
};
const notes: Readonly<Record<Kind, string>> = {
  facility: '',
  account:
    ' The password stays if it is left out. A new one ends the sessions, grants and the lock-out of the account.',
  client: ' The secrets stay if they are left out.',
};
const deletions: Readonly<Record<Kind, string>> = {
  facility: 'Fails with 409 while the facility has members.',
  account: 'Ends its sessions, grants and tokens. Its id is never used again.',
  client: 'Ends its grants and tokens.',
};

function endpointsOf(kind: Kind, context: ManagementContext): readonly Endpoint<Caller>[] {
  const { db, config } = context.services;
  const { name, collection, key, example, select, filter, remove } = kinds[kind];
  const link = linksBelow(config.issuer);
  const path = `/management/${collection}`;
  const tag = 'Resources';
  const params = {
    [key]: { description: `The ${key} of the ${kind}.`, schema: { type: 'string' }, example: String(example[key]) },
  };
  const success = { status: 200, description: `The ${kind}.`, schema: entrySchemas[kind], example, headers: etag };

  return [
    defineEndpoint({
      operationId: `list${kind === 'facility' ? 'Facilities' : `${name}s`}`,
      method: 'GET',
      path,
      access: 'read',
      tag,
      summary: `List ${collection}`,
      description: `The ${collection} of the service, by id.`,
      query: listQueries[kind] as {
        type: 'object';
        properties: { page: { type: 'integer' }; pageSize: { type: 'integer' } };
      },
      success: { status: 200, description: 'A page of the list.', schema: listSchemas[kind] },
      handle: async ({ query }) => {
        const page = { page: query.page ?? 1, pageSize: query.pageSize ?? defaultPageSize };
        const selection = filter(query);
        const { rows, total } = await readPage(
          page,
          (limit) => select(db, { ...selection, limit, offset: offsetOf(page) }),
          () => countRecords(db, kind, selection),
        );
        const hrefOf = (number: number) =>
          link('GET', `${path}${writeQueryString({ ...query, page: number, pageSize: page.pageSize })}`).href;
        return {
          status: 200,
          body: listEnvelope(
            rows.map(({ entry }) => entry),
            total,
            page,
            hrefOf,
          ),
        };
      },
    }),
    defineEndpoint({
      operationId: `get${name}`,
      method: 'GET',
      path: `${path}/{${key}}`,
      access: 'read',
      tag,
      summary: `Get the ${kind}`,
      description: `The entry of the ${kind} in an import file, without secrets.`,
      params,
      success,
      notModified: true,
      handle: async ({ params: { [key]: id }, header }) => {
        const resource = await getResource(db, kind, id);
        const headers = { ETag: resource.etag };
        if (isNotModified(header('if-none-match'), resource.etag)) return { status: 304, headers };
        return { status: 200, body: resource.entry, headers };
      },
    }),
    defineEndpoint({
      operationId: `put${name}`,
      method: 'PUT',
      path: `${path}/{${key}}`,
      access: 'write',
      tag,
      summary: `Create or replace the ${kind}`,
      description: `Returns 201 if it is new. An optional field that is left out gets its default.${notes[kind]}`,
      params,
      headers: {
        ...ifMatch,
        'If-None-Match': {
          description: 'With *, the request fails with 412 if the resource exists.',
          schema: { type: 'string' },
        },
      },
      body: bodySchemas[kind],
      bodyUse: 'as sent',
      bodyExample: example,
      success,
      otherSuccess: { ...success, status: 201 },
      handle: async ({ params: { [key]: id = '' }, body, caller, header }) => {
        const { resource, isNew } = await putResource(kind, id, body as Entry, { ...context, caller, header });
        const location = link('GET', `${path}/${encodeURIComponent(String(resource.entry[key]))}`).href;
        return {
          status: isNew ? 201 : 200,
          body: resource.entry,
          headers: { ETag: resource.etag, ...(isNew && { Location: location }) },
        };
      },
    }),
    defineEndpoint({
      operationId: `delete${name}`,
      method: 'DELETE',
      path: `${path}/{${key}}`,
      access: 'write',
      tag,
      summary: `Delete the ${kind}`,
      description: deletions[kind],
      params,
      headers: ifMatch,
      success: { status: 204, description: 'Deleted.' },
      handle: ({ params: { [key]: id }, caller, header }) =>
        context.makeChange(caller, async (tx) => {
          const resource = await getResource(tx, kind, id);
          checkPreconditions((field) => (field === 'if-match' ? header(field) : undefined), resource.etag);
          await remove(tx, resource);
          const events = [{ kind: `${kind}.deleted`, [`${kind}Id`]: resource.id }];
          return { result: { status: 204 }, events };
        }),
    }),
  ];
}

interface PutContext extends ManagementContext {
  readonly caller: Caller;
  readonly header: (name: string) => string | undefined;
}

async function putResource(
  kind: Kind,
  address: string,
  body: Entry,
  { services, clientValidator, makeChange, caller, header }: PutContext,
) {
  const { section, key } = kinds[kind];
  return makeChange(caller, async (tx) => {
    const current = await findResource(tx, kind, address);
    const entry = withAddress(kind, address, body, current);
    const document = await withOwnPaths(`/${section}/0`, () => readImportDocument({ [section]: [entry] }));
    const { scopes, config } = services;
    const { encryptionKeys } = config;
    const options = { scopes, clientValidator, encryptionKeys, missing: 'default', mayGiveScopes: false } as const;
    const plan = await planImport(tx, placedEntries(document), options);
    const step = [...plan.facilities, ...plan.accounts, ...plan.clients][0];
    const events = await withOwnPaths(`/${section}/0`, async () => {
      const deleted = kind === 'client' ? 'accountId' : 'id';
      if (!step) throw new ImportError([`/${deleted}: belongs to an account that was deleted`]);
      if (plan.errors.length > 0) throw new ImportError(plan.errors);
      // An account can be found by its id too, if it gets a new user name.
      const stored = step.before && (await kinds[kind].select(tx, withIds(kind, [step.id])))[0];
      checkPreconditions(header, stored?.etag);
      return writePlan(tx, plan, caller.clientId);
    });
    if (step?.kind === 'account') await checkOwners(tx, step);
    const resource = await getResource(tx, kind, String((document[section]?.[0] as Entry | undefined)?.[key]));
    return { result: { resource, isNew: step?.before === undefined }, events, isStored: true };
  });
}

/** The body may leave out the field that the address contains, and the id of an account. */
function withAddress(kind: Kind, address: string, body: Entry, current: Resource | undefined): Entry {
  const { key } = kinds[kind];
  const given = body[key];
  const isSame =
    typeof given === 'string' &&
    (kind === 'account' ? given.toLowerCase() === address.toLowerCase() : given === address);
  if (given !== undefined && !isSame) throw new ImportError([`/${key}: must be that of the address`]);
  const named = { ...body, [key]: given ?? current?.entry[key] ?? address };
  if (kind !== 'account') return named;
  return { ...named, id: body.id ?? current?.id ?? `acc-${randomBytes(12).toString('base64url')}` };
}

/** Removes the path of the entry from the paths of errors. */
async function withOwnPaths<Result>(path: string, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    throw new ImportError(error.errors.map((text) => (text.startsWith(`${path}/`) ? text.slice(path.length) : text)));
  }
}

/** Only the facilities of which the account was an owner can lose their last one. */
async function checkOwners(tx: Queryable, { before }: AccountStep): Promise<void> {
  if (!before || before.disabled) return;
  const owned = before.memberships.filter(({ role }) => role === 'owner').map(({ facilityId }) => facilityId);
  if (owned.length > 0 && (await findWithoutOwner(tx, owned)).length > 0) throw apiError('MEMBER00001');
}
