// Defines who may do what at a facility. Owners may do everything, and staff may manage service accounts
// (specification, "Bookings API access", step 1: "A facility owner or authorized staff invites a Service Account").
import type { AccountKind } from '../accounts/store.ts';
import type { FacilityRole } from '../facilities/store.ts';

/** Nobody can be invited as owner: an owner promotes a member of the staff. */
export const invitableRoles = ['bookings-manager', 'staff'] as const;
export type InvitableRole = (typeof invitableRoles)[number];

/** A role whose holder sees the members of the facility. */
export type ManagingRole = 'owner' | 'staff';

export const isManaging = (role: FacilityRole | undefined): role is ManagingRole =>
  role === 'owner' || role === 'staff';

/** Service accounts are Bookings Managers, and users have every other role. */
export const accountKindFor = (role: InvitableRole): AccountKind => (role === 'bookings-manager' ? 'service' : 'user');

/** The roles that somebody with the role `actor` may invite. */
export const invitableBy = (actor: ManagingRole): readonly InvitableRole[] =>
  actor === 'owner' ? invitableRoles : ['bookings-manager'];

export const mayInvite = (actor: ManagingRole, invited: InvitableRole): boolean => invitableBy(actor).includes(invited);

/** Staff may also revoke their own role, which is called leaving the facility. */
export const mayRevoke = (actor: ManagingRole, revoked: FacilityRole, isSelf: boolean): boolean =>
  actor === 'owner' || isSelf || revoked === 'bookings-manager';

/** The roles that `actor` may give to an account of this kind instead of its `current` role. */
export function assignableRoles(
  actor: ManagingRole,
  kind: AccountKind,
  current: FacilityRole,
): readonly FacilityRole[] {
  if (actor !== 'owner' || kind === 'service') return [];
  return (['staff', 'owner'] as const).filter((role) => role !== current);
}
