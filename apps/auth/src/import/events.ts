// Describes the changes of an import or an operator as audit events. They name the fields that changed, and no values
// except roles.
import type { AuditEvent } from '../audit/audit.ts';
import type { AccountStep, ClientStep, Plan, Step } from './importer.ts';
import { type MembershipChange, membershipChanges } from './store.ts';

export function eventsOf({ facilities, accounts, clients }: Plan, operator: string): AuditEvent[] {
  return [
    ...facilities.flatMap((step) => eventOf(step, operator, { facilityId: step.id })),
    ...accounts.flatMap((step) => accountEvents(step, operator)),
    ...clients.flatMap((step) => clientEvents(step, operator)),
  ];
}

type Subject = Pick<AuditEvent, 'accountId' | 'clientId' | 'facilityId'>;

function eventOf({ kind, before, changed }: Step, operator: string, subject: Subject): AuditEvent[] {
  if (changed.length === 0) return [];
  return [{ kind: `${kind}.${before ? 'changed' : 'created'}`, ...subject, detail: { operator, changed } }];
}

function accountEvents(step: AccountStep, operator: string): AuditEvent[] {
  const { id: accountId, before, after } = step;
  const detail = { operator, changed: ['disabled'] };
  const isSwitched = (before?.disabled ?? false) !== after.disabled;
  const others = { ...step, changed: step.changed.filter((field) => !isSwitched || field !== 'disabled') };
  return [
    ...eventOf(others, operator, { accountId }),
    ...(isSwitched ? [{ kind: after.disabled ? 'account.disabled' : 'account.enabled', accountId, detail }] : []),
    ...membershipChanges(step).map((change) => membershipEvent(change, step, operator)),
  ];
}

/** The history of the facility shows it. As there, `accountId` would be the account that makes the change. */
function membershipEvent(change: MembershipChange, { after }: AccountStep, operator: string): AuditEvent {
  const { facilityId, accountId, from, to } = change;
  const common = { operator, changed: ['memberships'], account: accountId, name: after.name ?? after.username };
  if (from === undefined) return { kind: 'membership.added', facilityId, detail: { ...common, role: to } };
  if (to === undefined) return { kind: 'membership.revoked', facilityId, detail: { ...common, role: from } };
  return { kind: 'membership.role-changed', facilityId, detail: { ...common, from, to } };
}

function clientEvents(step: ClientStep, operator: string): AuditEvent[] {
  const { accountId } = step.after.client;
  return eventOf(step, operator, { clientId: step.id, ...(accountId !== null && { accountId }) });
}
