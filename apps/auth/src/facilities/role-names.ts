// Defines the names of the roles at a facility that pages and e-mails show.
import type { FacilityRole } from './store.ts';

export const roleNames: Readonly<Record<FacilityRole, string>> = {
  owner: 'Owner',
  staff: 'Staff',
  'bookings-manager': 'Bookings Manager',
};
