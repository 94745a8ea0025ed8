// Defines the roles at a facility, and how pages and e-mails name them.

export type FacilityRole = 'owner' | 'staff' | 'bookings-manager';

export const roleNames: Readonly<Record<FacilityRole, string>> = {
  owner: 'Owner',
  staff: 'Staff',
  'bookings-manager': 'Bookings Manager',
};
