// Defines the roles at a facility, and how pages, e-mails and the claim `roles` name them.

export type FacilityRole = 'owner' | 'staff' | 'bookings-manager' | 'facility-manager';

/** The role of an account at a facility. */
export interface Membership {
  readonly facilityId: string;
  readonly role: FacilityRole;
}

/** The facility may require a second factor. Personal access tokens do not need one. */
export interface UserMembership extends Membership {
  readonly requiresSecondFactor: boolean;
}

export const roleNames: Readonly<Record<FacilityRole, string>> = {
  owner: 'Owner',
  staff: 'Staff',
  'bookings-manager': 'Bookings Manager',
  'facility-manager': 'Facility Manager',
};

/** The values of the claim `roles`. */
export const roleClaims: Readonly<Record<FacilityRole, string>> = {
  owner: 'range-owner',
  staff: 'range-staff',
  'bookings-manager': 'bookings-manager',
  'facility-manager': 'facility-manager',
};
