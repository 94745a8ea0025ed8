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

/** What somebody with the role can do, after “can”. */
export const roleAbilities: Readonly<Record<FacilityRole, string>> = {
  owner:
    'do everything at the facility: book, move and cancel on the day sheet, close bays, change opening hours, and invite and ' +
    'remove people and programs',
  staff:
    'book, move and cancel on the day sheet, close bays, change opening hours, see the people of the facility, and ' +
    'invite and remove programs',
  'bookings-manager': 'read, make, move and cancel bookings through the API',
  'facility-manager': 'do the same as a Bookings Manager, and change bays, opening hours and closures',
};

export const describeRole = (role: FacilityRole): string => {
  const isForPrograms = role === 'bookings-manager' || role === 'facility-manager';
  return `${isForPrograms ? 'For programs, such as a till or a booking site. ' : ''}Can ${roleAbilities[role]}.`;
};

/** The values of the claim `roles`. */
export const roleClaims: Readonly<Record<FacilityRole, string>> = {
  owner: 'range-owner',
  staff: 'range-staff',
  'bookings-manager': 'bookings-manager',
  'facility-manager': 'facility-manager',
};
