// Who may do what at a facility? Pure. An owner may everything; staff look after Bookings Managers, that is, service accounts
// (specification, "Bookings API access" 1: "a facility owner or authorized staff invites a Service Account").
import type { FacilityRole } from '../facilities/store.ts';

export type AccountKind = 'user' | 'service';

/** An invitation makes no owner: staff become owners once they are known. */
export const invitableRoles = ['bookings-manager', 'staff'] as const;
export type InvitableRole = (typeof invitableRoles)[number];

export const roleWords: Readonly<Record<FacilityRole, string>> = {
  owner: 'Owner',
  staff: 'Staff',
  'bookings-manager': 'Bookings Manager',
};

/** Roles that see a facility's people. */
export const managesPeople = (role: FacilityRole | undefined): role is 'owner' | 'staff' =>
  role === 'owner' || role === 'staff';

/** Bookings Manager is the role of programs, every other that of people. */
export const kindFor = (role: InvitableRole): AccountKind => (role === 'bookings-manager' ? 'service' : 'user');

export const invitableBy = (actor: FacilityRole): readonly InvitableRole[] =>
  actor === 'owner' ? invitableRoles : actor === 'staff' ? ['bookings-manager'] : [];

export const mayInvite = (actor: FacilityRole, invited: InvitableRole): boolean => invitableBy(actor).includes(invited);

/** Everybody who sees the people may leave. */
export const mayRevoke = (actor: FacilityRole, target: FacilityRole, self: boolean): boolean =>
  actor === 'owner' || (actor === 'staff' && (self || target === 'bookings-manager'));

/** Roles that an account of this kind may be given instead of the one it has. */
export function rolesToGive(actor: FacilityRole, kind: AccountKind, now: FacilityRole): readonly FacilityRole[] {
  if (actor !== 'owner' || kind === 'service') return [];
  return (['staff', 'owner'] as const).filter((role) => role !== now);
}
