// The names of the roles at a facility, as pages and e-mails show them.
import type { FacilityRole } from './store.ts';

export const roleNames: Readonly<Record<FacilityRole, string>> = {
  owner: 'Owner',
  staff: 'Staff',
  'bookings-manager': 'Bookings Manager',
};
