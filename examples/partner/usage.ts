// Counts the bookings of a facility by the program that made them.
import type { BookingsClient } from '@bay-booking/client';

interface ProgramUsage {
  readonly program: string;
  readonly bookings: number;
  readonly cancelled: number;
}

/** Counts the bookings and cancellations of the last week. A program has the name that its facility gave it. */
export async function countByProgram(client: BookingsClient): Promise<readonly ProgramUsage[]> {
  const endDate = new Date().toISOString();
  const startDate = new Date(Date.parse(endDate) - 7 * 24 * 3_600_000).toISOString();
  const { facilities } = await client.me();
  const facilityId = facilities[0]?.id ?? '';
  const [{ items }, { clients }] = await Promise.all([
    client.usage({ facilityId, startDate, endDate, by: 'client' }),
    client.people(facilityId),
  ]);
  const names = new Map(clients.map(({ clientId, name }) => [clientId, name]));
  const programOf = (key: string | null) => (key === null ? 'unknown' : (names.get(key) ?? key));
  return items.map(({ key, bookings, cancelled }) => ({ program: programOf(key), bookings, cancelled }));
}
