// Creates or replaces one facility, location or bay, with the validation and the statements of an import.
import { ImportError } from '@bay-booking/common/import-document';
import { type Database, type Transaction, transaction } from '@bay-booking/service/database/database';
import { isText } from '../http/schemas.ts';
import { checkImport } from './document.ts';
import { findPlace } from './find-store.ts';
import type { PlaceResource } from './resource.ts';
import { lockPlacesOfService, type PlaceKind, planWrites, type Step, write } from './store.ts';

type Entry = Readonly<Record<string, unknown>>;

/** An import file with one entry, and the errors in the fields that name what contains the entry. */
interface Wrapped {
  readonly document: object;
  /** The path of the entry in the document. */
  readonly path: string;
  readonly errors: readonly string[];
}

export interface PutOptions {
  readonly clientId: string;
  /** Gets the resource as it is. May throw an error, and nothing is then written. */
  readonly check: (current: PlaceResource | undefined) => void;
}

/**
 * The entry may contain locations and bays, as in an import file. Those that it leaves out stay.
 * @throws {ImportError} with paths inside the entry
 */
export function putPlace(
  db: Database,
  kind: PlaceKind,
  id: string,
  body: Entry,
  { clientId, check }: PutOptions,
): Promise<Step> {
  return transaction(db, async (tx) => {
    await lockPlacesOfService(tx);
    const idErrors = body.id === undefined || body.id === id ? [] : ['/id: must be the id of the address'];
    const wrapped = await wrap(tx, kind, id, { ...body, id });
    const { facilities, errors: documentErrors } = checkImport(wrapped.document);
    const ownErrors = [...idErrors, ...wrapped.errors];
    failIfAny(wrapped, ownErrors, documentErrors);
    const plan = await planWrites(tx, facilities, 'default');
    failIfAny(wrapped, ownErrors, plan.errors);
    const step = plan.steps.find(({ path }) => path === wrapped.path) as Step;
    check(step.before);
    await write(tx, plan, clientId);
    return step;
  });
}

function failIfAny({ path }: Wrapped, ownErrors: readonly string[], errors: readonly string[]): void {
  const all = [...ownErrors, ...errors.map((error) => error.slice(error.startsWith(path) ? path.length : 0))];
  if (all.length > 0) throw new ImportError(all);
}

function wrap(tx: Transaction, kind: PlaceKind, id: string, entry: Entry): Wrapped | Promise<Wrapped> {
  if (kind === 'facility') return { document: { facilities: [entry] }, path: '/facilities/0', errors: [] };
  return kind === 'location' ? wrapLocation(tx, id, entry) : wrapBay(tx, id, entry);
}

async function wrapLocation(tx: Transaction, id: string, { facilityId, ...entry }: Entry): Promise<Wrapped> {
  const [{ parent, errors }, current] = await Promise.all([
    findParent(tx, 'facility', 'facilityId', facilityId),
    findPlace(tx, 'location', id),
  ]);
  const moves = current !== undefined && parent !== undefined && current.facilityId !== parent.facilityId;
  return {
    document: { facilities: [{ ...(parent?.resource ?? unknownParent), locations: [entry] }] },
    path: '/facilities/0/locations/0',
    errors: moves ? [`/facilityId: the location belongs to facility ${current.facilityId}`] : errors,
  };
}

async function wrapBay(tx: Transaction, id: string, { locationId, ...entry }: Entry): Promise<Wrapped> {
  const [{ parent, errors }, current] = await Promise.all([
    findParent(tx, 'location', 'locationId', locationId),
    findPlace(tx, 'bay', id),
  ]);
  const facility = parent && (await findPlace(tx, 'facility', parent.facilityId));
  const moves = current !== undefined && parent !== undefined && current.facilityId !== parent.facilityId;
  const location = { id: parent?.resource.id ?? unknownParent.id, name: parent?.resource.name ?? unknownParent.name };
  return {
    document: {
      facilities: [{ ...(facility?.resource ?? unknownParent), locations: [{ ...location, bays: [entry] }] }],
    },
    path: '/facilities/0/locations/0/bays/0',
    errors: moves ? [`/locationId: the bay belongs to facility ${current.facilityId}`] : errors,
  };
}

/** Lets the other fields of an entry be validated if its parent is not known. */
const unknownParent = { id: 'unknown', name: 'unknown', timeZone: 'UTC' };

async function findParent(tx: Transaction, kind: 'facility' | 'location', field: string, id: unknown) {
  if (id === undefined || id === null || id === '') return { parent: undefined, errors: [`/${field}: is missing`] };
  if (typeof id !== 'string') return { parent: undefined, errors: [`/${field}: must be string`] };
  const parent = isText(id) ? await findPlace(tx, kind, id) : undefined;
  return { parent, errors: parent ? [] : [`/${field}: no ${kind} has this id`] };
}
