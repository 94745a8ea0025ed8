// Defines who may do what at a facility (specification, "Bookings API access", step 1).
import type { AccountKind } from '../accounts/store.ts';
import type { FacilityRole } from '../facilities/roles.ts';

/** In the portal, owners are not invited: an owner promotes a member of the staff. Operators invite owners. */
export const invitableRoles = ['staff', 'bookings-manager', 'facility-manager'] as const;
export type InvitableRole = (typeof invitableRoles)[number];

export type InvitedRole = InvitableRole | 'owner';

export type ManagingRole = 'owner' | 'staff';

export const isManaging = (role: FacilityRole | undefined): role is ManagingRole =>
  role === 'owner' || role === 'staff';

const isServiceRole = (role: FacilityRole): boolean => role === 'bookings-manager' || role === 'facility-manager';

export const accountKindFor = (role: InvitedRole): AccountKind => (isServiceRole(role) ? 'service' : 'user');

export const invitableBy = (actor: ManagingRole): readonly InvitableRole[] =>
  actor === 'owner' ? invitableRoles : invitableRoles.filter(isServiceRole);

export const mayInvite = (actor: ManagingRole, invited: InvitedRole): boolean =>
  invitableBy(actor).some((role) => role === invited);

/** Owners may revoke every role. Staff may revoke the roles of service accounts, and their own role. */
export const mayRevoke = (actor: ManagingRole, revoked: FacilityRole, isSelf: boolean): boolean =>
  actor === 'owner' || isSelf || isServiceRole(revoked);

/** Owners help members who have lost their second factors. An operator helps an owner without another one. */
export const mayResetFactors = (actor: ManagingRole, isSelf: boolean): boolean => actor === 'owner' && !isSelf;

/** A service account keeps its role, and only owners change roles. */
export function assignableRoles(
  actor: ManagingRole,
  kind: AccountKind,
  current: FacilityRole,
): readonly FacilityRole[] {
  if (actor !== 'owner' || kind === 'service') return [];
  return (['staff', 'owner'] as const).filter((role) => role !== current);
}
