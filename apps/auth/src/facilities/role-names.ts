// Defines how pages and e-mails name the roles at a facility.
import type { FacilityRole } from './store.ts';

export const roleNames: Readonly<Record<FacilityRole, string>> = {
  owner: 'Owner',
  staff: 'Staff',
  'bookings-manager': 'Bookings Manager',
};
