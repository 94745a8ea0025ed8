// Defines the errors of the management API, and the endpoints that change something besides a record.
import type { Endpoint, EndpointRequest } from '@bay-booking/common/endpoint';
import { retryAfterHeader } from '@bay-booking/common/general-errors';
import { textSchema } from '@bay-booking/common/text';
import { changeRequestOf } from '@bay-booking/records/endpoints';
import { change, createManagementErrors, type Operator, type RecordStore } from '@bay-booking/records/record';
import type { Transaction } from '@bay-booking/service/database/database';
import { type AuditEvent, storeOperatorEvents } from '../audit/store.ts';

export const accountErrors = createManagementErrors({
  ERR00429: { status: 429, description: 'Too many requests.', headers: retryAfterHeader, appliesTo: ['inviteOwner'] },
  FACILITY00001: {
    status: 409,
    description: 'The facility is disabled.',
    appliesTo: ['inviteOwner', 'putClient', 'importFile', 'rotateClientSecret'],
  },
  MEMBER00003: { status: 409, description: 'The address cannot be invited as owner.', appliesTo: ['inviteOwner'] },
  ACCOUNT00001: {
    status: 409,
    description: 'The account is disabled or has no e-mail address.',
    appliesTo: ['sendPasswordReset'],
  },
  CLIENT00001: { status: 409, description: 'The client has no secret.', appliesTo: ['rotateClientSecret'] },
  MEMBER00001: {
    status: 409,
    description: 'A facility would have no owner.',
    appliesTo: ['putAccount', 'deleteAccount', 'importFile'],
  },
  MEMBER00002: { status: 409, description: 'The facility still has members.', appliesTo: ['deleteFacility'] },
  CLIENT00002: {
    status: 403,
    description: 'Only the import command can make, change or delete an operator.',
    appliesTo: ['putClient', 'deleteClient', 'importFile'],
  },
});

export const actionTag = 'Actions';
export const facilityFilter = { facilityId: { ...textSchema, description: 'Facility ID.' } } as const;

interface Action<Body> extends Omit<Endpoint<Operator>, 'access' | 'tag' | 'success' | 'handle'> {
  /** Default: 204. */
  readonly success?: Endpoint['success'];
  /** `id` is the parameter of the path. */
  readonly work: (
    tx: Transaction,
    id: string,
    request: { readonly body: Body },
  ) => Promise<{
    readonly events: readonly AuditEvent[];
    readonly body?: object;
    /** Called after the commit. */
    readonly after?: (() => void) | undefined;
  }>;
}

/** Returns a function that describes an action: one change, with its audit events. A dry run does not call `after`. */
export const operatorAction =
  (store: RecordStore) =>
  <Body>({ success = { status: 204, description: 'Done.' }, work, ...action }: Action<Body>): Endpoint<Operator> => ({
    ...action,
    access: 'write',
    tag: actionTag,
    success,
    handle: async (request: EndpointRequest<never, never, Operator>) => {
      const changeRequest = changeRequestOf(request);
      const [id = ''] = Object.values(request.params);
      let committed: (() => void) | undefined;
      const response = await change(store, changeRequest, async (tx, context) => {
        const { events, body, after } = await work(tx, id, { body: request.body });
        await storeOperatorEvents(tx, context, events);
        committed = after;
        return { status: success.status, ...(body && { body }) };
      });
      if (!changeRequest.dryRun) committed?.();
      return response;
    },
  });
